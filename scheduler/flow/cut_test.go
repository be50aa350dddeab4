package flow

import (
	"slices"
	"strconv"
	"testing"
)

// TestATextThatACommentEnds is told to whoever saves it: behind a blank, the # of an expression begins a comment of YAML. A comment behind a whole text is none
// of this.
func TestATextThatACommentEnds(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{
		"parameter: ${{ map(steps.a.output.x, #.y) }}":                       "b 7 parameter ${{ map(steps.a.output.x,",
		"parameter: ${{ flow.param }} and ${{ map(steps.a.output.x, #.y) }}": "b 7 parameter ${{ flow.param }} and ${{ map(steps.a.output.x,",
		"if: count(steps.a.output.x, # > 1) > 2":                             "b 7 if count(steps.a.output.x,",
		"if: steps.a.output.x[ # 1":                                          "b 7 if steps.a.output.x[",
		"if: steps.a.output.x == 'a #b'":                                     "b 7 if steps.a.output.x == 'a",
		"foreach:\n      items: map(steps.a.output.x, #.y)":                  "b 8 items map(steps.a.output.x,",
		"foreach:\n      items: ${{ map(steps.a.output.x, #.y) }}":           "b 8 items ${{ map(steps.a.output.x,",

		`parameter: "${{ map(steps.a.output.x, #.y) }}"`:        "",
		"parameter: ${{ steps.a.output.x }} # (what it gave":    "",
		"parameter: (1 # as it is":                              "",
		"parameter: |\n      ${{ map(steps.a.output.x, #.y) }}": "",
		"if: success() # (only then":                            "",
		"if: steps.a.output.x == '(' # a bracket":               "",
		"if: steps.a.output.x == \"\\\"(\" # a bracket":         "",
		"if: map(steps.a.output.x,#.y) == []":                   "",
		"foreach:\n      items: map(steps.a.output.x, {#.y})":   "",
	} {
		text := "steps:\n  - id: a\n    job: 1\n  - id: b\n    needs: a\n    job: 1\n    " + field + "\n"
		if got := cutsOf(t, text); want == "" && len(got) > 0 || want != "" && !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
	for text, want := range map[string][]string{
		"steps:\n  - id: a\n    approve:\n      message: Pay ${{ sum(flow.param, #.x) }}?\n": {"a 4 message Pay ${{ sum(flow.param,"},
		"steps:\n  - id: a\n    wait:\n      until: ${{ join(flow.param, #.x) }}\n":          {"a 4 until ${{ join(flow.param,"},
		"steps:\n  - id: a\n    job: 1\noutputs:\n  x: map(steps.a.output.x, #.y)\n":         {" 5 outputs.x map(steps.a.output.x,"},
	} {
		if got := cutsOf(t, text); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// cutsOf are the faults of that kind which whoever saves a text is told.
func cutsOf(t *testing.T, text string) (cuts []string) {
	t.Helper()
	def, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	faults, err := Validate(def, Job{ID: 9, IsFlow: true, MayRun: true}, jobBook{1: {ID: 1, MayRun: true}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		if f.Key != CodeCut {
			t.Errorf("%s: %v", text, f)
			continue
		}
		cuts = append(cuts, f.Step+" "+strconv.Itoa(f.Line)+" "+f.Name+" "+f.Args[1].(string))
	}
	return cuts
}
