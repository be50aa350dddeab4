package expr

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var testScope = Scope{Steps: []string{"a", "list", "b_1"}, Item: true}

func testValues() *Values {
	output, _ := DecodeJSON(`{"rows": 12, "name": "x", "big": 9007199254740993, "half": 0.5, "files": ["p", "q"], "none": null, "deep": {"k": [1, 2]}}`)
	return &Values{
		Param: `{"day":"x"}`, Planned: time.Date(2026, 3, 31, 1, 5, 9, 0, shanghai), Zone: shanghai, Item: map[string]any{"id": 7},
		Steps: map[string]Step{
			"a":    {State: "success", Code: 200, Message: "done", Output: output},
			"list": {State: "failed", Code: 500, Items: []any{Step{State: "success", Output: map[string]any{"n": 1}}.Value(), Step{State: "failed", Message: "no"}.Value()}},
		},
		Status: Status{Success: true, Any: true},
	}
}

func TestExpressionsHaveValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want any
	}{
		{"true", true},
		{"1 + 2 * 3", 7},
		{"1.5 + 1", 2.5},
		{`"a" + 'b'`, "ab"},
		{`"n=" + 3 + "d"`, "n=3d"},
		{"flow.param", `{"day":"x"}`},
		{"fromJSON(flow.param).day", "x"},
		{"flow.planned", "2026-03-31T01:05:09+08:00"},
		{`planned("yyyy-MM-dd", "-1d")`, "2026-03-30"},
		{`planned("yyyyMMdd HH", "", "UTC")`, "20260330 17"},
		{`map(1..3, planned("MMdd", "-" + # + "d"))`, []any{"0330", "0329", "0328"}},
		{"steps.a.state == 'success'", true},
		{"steps.a.code", 200},
		{"steps.a.message contains 'on'", true},
		{"steps.a.output.rows > 10 and steps.a.output.rows <= 12", true},
		{"steps.a.output.rows == 12.0", true},
		{"steps.a.output.big", 9007199254740993},
		{"steps.a.output.half", 0.5},
		{"steps.a.output.missing", nil},
		{"steps.a.output.missing?.deeper", nil},
		{"steps.a.output.missing ?? 'x'", "x"},
		{"steps.a.output.deep == {'k': [1, 2]}", true},
		{"steps.a.output.deep.k == [2, 1]", false},
		{"steps.a.output.files[1]", "q"},
		{"'p' in steps.a.output.files", true},
		{"'z' not in steps.a.output.files", true},
		{"'rows' in steps.a.output", true},
		{"steps.a['output']['name']", "x"},
		{"len(steps.a.output.files)", 2},
		{"len('天地')", 2},
		{"steps.b_1.state", ""},
		{"filter(steps.list.items, .state == 'failed')[0].message", "no"},
		{"count(steps.list.items, .state == 'success')", 1},
		{"map(steps.list.items, .output?.n ?? 0)", []any{1, 0}},
		{"sum(map(steps.list.items, .output?.n ?? 0))", 1},
		{"all(steps.list.items, #.state != '')", true},
		{"none(1..5, # > 5)", true},
		{"find(1..5, # > 3)", 4},
		{"map(['x'], #index)", []any{0}},
		{"item.id", 7},
		{"min(3, 2) + max(3, 2)", 5},
		{"max('a', 'b')", "b"},
		{"first(1..3)", 1},
		{"last([])", nil},
		{"keys(steps.a.output.deep)", []any{"k"}},
		{"values({'b': 2, 'a': 1})", []any{1, 2}},
		{"split('a,b', ',')", []any{"a", "b"}},
		{"join(1..3, '-')", "1-2-3"},
		{"replace('aXbX', 'X', 'yy')", "ayybyy"},
		{"upper(trim(' a ')) + lower('B')", "Ab"},
		{"int('12') + int(1.9)", 13},
		{"float('1.5')", 1.5},
		{"string([1, 'a', nil, {'k': true}])", `[1,"a",null,{"k":true}]`},
		{`toJSON("a\"b")`, `"a\"b"`},
		{"'abc123' matches '^[a-c]+[0-9]{3}$'", true},
		{"'abc' startsWith 'ab' && 'abc' endsWith 'bc'", true},
		{"10 % 3 == 1 ? 'odd' : 'even'", "odd"},
		{"'b' > 'a'", true},
		{"success() && !failure() && any() && always()", true},
	} {
		p, err := Compile(tt.text, testScope)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		got, err := p.Eval(testValues())
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %v", tt.text, diff, err)
		}
	}
}

func TestWhatCannotBeReadSaysWhy(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Error{
		"":                                       {Kind: KindSyntax},
		"1 +":                                    {Kind: KindSyntax},
		"a b":                                    {Kind: KindSyntax},
		"steps":                                  {Kind: ""},
		"foo":                                    {Kind: KindName, Text: "foo"},
		"foo()":                                  {Kind: KindName, Text: "foo"},
		"$env":                                   {Kind: KindName, Text: "$env"},
		"now()":                                  {Kind: KindName, Text: "now"},
		"repeat('x', 1000000)":                   {Kind: KindName, Text: "repeat"},
		"reduce(1..3, #acc + #)":                 {Kind: KindName, Text: "#acc"},
		"sortBy([1], #)":                         {Kind: KindName, Text: "sortBy()"},
		"flow.param.trim()":                      {Kind: KindName, Text: "flow.param.trim()"},
		"flow.secret":                            {Kind: KindSyntax},
		"secrets.DB":                             {Kind: KindSecret},
		"steps.a.output + secrets.DB":            {Kind: KindSecret},
		"steps.nothing.state":                    {Kind: KindStep, Text: "nothing"},
		"steps.a.outptu":                         {Kind: KindSyntax},
		"steps[flow.param].state":                {Kind: KindSyntax},
		"let x = 1; 2":                           {Kind: KindSyntax},
		"1; 2":                                   {Kind: KindSyntax},
		"success(1)":                             {Kind: KindSyntax},
		"any([1], # > 0)":                        {Kind: KindSyntax},
		"len()":                                  {Kind: KindSyntax},
		"upper(1)":                               {Kind: KindSyntax},
		"'#effort' + " + "#effort":               {Kind: KindSyntax},
		strings.Repeat("1+", 150) + "1":          {Kind: KindSyntax},
		"'" + strings.Repeat("x", MaxText) + "'": {Kind: KindLong},
	} {
		_, err := Compile(text, testScope)
		if want.Kind == "" {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Kind != want.Kind || e.Text != want.Text || e.Expression == "" && text != "" || e.Kind == KindSyntax && e.Reason.Key == "" {
			t.Errorf("%.80s: %+v, want %+v", text, err, want)
		}
	}
	if _, err := Compile("item", Scope{}); !errors.As(err, new(*Error)) || !strings.Contains(err.Error(), string(KindItem)) {
		t.Errorf("item where there is none: %v", err)
	}
}

func TestWhatHasNoValueSaysWhy(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"steps.a.output.missing.deeper", "steps.a.output.rows.x", "1 + nil", "nil > 1", "int('x')", "fromJSON('{')", "1 % 0", "keys([1])", "len(1)",
		"'a' in 1", "'a' matches '('", "planned('YYYY')", "planned(\"yyyy'\")", "sum(['a'])", "filter(flow.param, true)", "[1][5]", "join('a', ',')", "-'a'",
	} {
		p, err := Compile(text, testScope)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindSyntax {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		v, err := p.Eval(testValues())
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindValue || e.Reason.Key == "" || strings.Contains(Said(e.Reason), "\n") {
			t.Errorf("%s: %v %+v", text, v, err)
		}
	}
	p, err := Compile("1", testScope)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Holds(testValues()); err == nil {
		t.Error("1 is a condition")
	}
	if _, _, err := p.List(testValues()); err == nil {
		t.Error("1 is a list")
	}
}

// TestNoExpressionTakesLong tries what would take hours or all memory.
func TestNoExpressionTakesLong(t *testing.T) {
	t.Parallel()
	values := testValues()
	many := make([]any, 10_000)
	for i := range many {
		many[i] = strings.Repeat("x", 50)
	}
	values.Steps["a"] = Step{Message: strings.Repeat("a", 64<<10), Output: many}
	double := func(n int) string {
		return "map(" + strings.Repeat("map(", n) + "[1]" + strings.Repeat(", [#, #])", n) + ", #)"
	}
	for _, text := range []string{
		"count(steps.a.output, count(steps.a.output, count(steps.a.output, true) > 0) > 0)",
		"map(1..90000, 1..90000)",
		"1..1000000000",
		"join(map(1..90000, steps.a.message), '')",
		"len(join(map(1..900, steps.a.message + steps.a.message), ''))",
		"replace(steps.a.message, 'a', steps.a.message)",
		"count(1..50000, steps.a.message contains 'b')",
		"count(1..50000, steps.a.message matches '(a|b|c|d)*e$')",
		"count(1..50000, upper(steps.a.message) == '')",
		"count(1..50000, int('0' + # ) > len(steps.a.message))",
		"map([" + double(28) + "], # == #)[0]",
		"toJSON(" + double(28) + ")",
		"map([" + double(28) + "], string(#) in [#])",
	} {
		p, err := Compile(text, testScope)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		v, err := p.Eval(values)
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindEffort {
			t.Errorf("%s: %.60v, %v", text, fmt.Sprint(v), err)
		}
	}
	enough := func(text string) {
		p, err := Compile(text, testScope)
		if err == nil {
			_, err = p.Eval(values)
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	enough("len(filter(steps.a.output, # contains 'x' && len(#) > 3))") // 10,000 items are read
}

func TestWhatAnExpressionReadsIsKnown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text             string
		reads            []string
		status, constant bool
	}{
		{"false", nil, false, true},
		{"1 > 2 and true", nil, false, true},
		{"always()", nil, true, false},
		{"cancelled()", nil, true, false},
		{"steps.a.code == 1 or steps.b_1.code == steps.a.code", []string{"a", "b_1"}, false, false},
		{"map(steps.list.items, .state)", []string{"list"}, false, false},
		{"flow.param == ''", nil, false, false},
		{"item == 1", nil, false, false},
		{"planned() == ''", nil, false, false},
		{"success() && steps.a.state == ''", []string{"a"}, true, false},
	} {
		p, err := Compile(tt.text, testScope)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if !slices.Equal(p.Reads(), tt.reads) || p.AsksStatus() != tt.status || p.Constant() != tt.constant || p.AsksCancelled() != strings.Contains(tt.text, "cancelled()") {
			t.Errorf("%s: %v %v %v", tt.text, p.Reads(), p.AsksStatus(), p.Constant())
		}
	}
}

func keepSecrets(inside string) bool { return strings.HasPrefix(inside, "secrets.") }

func TestTextsAreFilledIn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"plain", "plain"},
		{"${{ steps.a.output.rows }} of ${{ steps.a.message }}", "12 of done"},
		{"${{ steps.a.output.files }}", `["p","q"]`},
		{"${{ steps.a.output.missing }}.", "."},
		{"${{ planned | yyyy-MM-dd, -1d }} ${{ flow.planned }}", "2026-03-30 2026-03-31T01:05:09+08:00"},
		{"${{ secrets.DB }} ${{ item.id }}", "${{ secrets.DB }} 7"},
		{`{"m": "${{ toJSON(steps.a.output.name) }}"}`, `{"m": "\"x\""}`},
		{`{"list": ${{ steps.a.output.files }}, "n": ${{ steps.a.output.rows }}}`, `{"list": ["p","q"], "n": 12}`},
		{`{"a": ${{ nil }}, "\"${{ nil }}": [${{ steps.a.output.name }}, "${{ steps.a.output.rows }}"]}`, `{"a": null, "\"": ["x", "12"]}`},
		{`{"a": 1${{ steps.a.output.rows }}, "b": "${{ toJSON('x') }}"}`, `{"a": 112, "b": ""x""}`}, // no value stands there: no JSON
		{"[${{ planned | yyyy }}, ${{ planned | yyyy-MM-dd }}, ${{ secrets.DB }}]", `[2026, "2026-03-31", ${{ secrets.DB }}]`},
		{"${{ true }} ${{ nil }}${{ 1.50 }}", "true 1.5"},
	} {
		template, err := ParseTemplate(tt.text, testScope, keepSecrets)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if got, err := template.Fill(testValues()); err != nil || got != tt.want {
			t.Errorf("%s: %q %v, want %q", tt.text, got, err, tt.want)
		}
	}
	if _, err := ParseTemplate("${{ planned | YYYY }}", testScope, keepSecrets); !errors.As(err, new(*Fault)) {
		t.Errorf("a planned time that cannot be read: %v", err)
	}
	if _, err := ParseTemplate("${{ nothing }}", testScope, keepSecrets); !errors.As(err, new(*Error)) {
		t.Errorf("an unknown name: %v", err)
	}
}

// TestValuesInJSON fills in the table of docs/flows.md, which the Chinese page has too.
func TestValuesInJSON(t *testing.T) {
	t.Parallel()
	span := regexp.MustCompile("`([^`]*)`")
	for _, page := range []string{"../../docs/flows.md", "../../docs/zh-CN/flows.md"} {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(raw), "<!-- values -->\n")
		text, _, _ = strings.Cut(text, "<!-- /values -->")
		rows := 0
		for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
			cells := strings.Split(strings.Trim(line, "|"), "|")
			if i < 2 || len(cells) != 4 {
				continue
			}
			rows++
			expression := span.FindStringSubmatch(cells[0])[1]
			for column, where := range []string{"x %s", `{"k": "%s"}`, `{"k": %s}`} {
				whole := fmt.Sprintf(where, "${{ "+expression+" }}")
				template, err := ParseTemplate(whole, testScope, keepSecrets)
				if err != nil {
					t.Fatal(err)
				}
				want := ""
				if shown := span.FindStringSubmatch(cells[column+1]); shown != nil {
					want = strings.ReplaceAll(shown[1], "⏎", "\n") // a table has no line breaks
				}
				v := testValues()
				v.Steps["a"] = Step{Message: "1, \"k\": 2", Output: map[string]any{"n": "12", "name": "x", "none": nil}}
				got, err := template.Fill(v)
				if full := fmt.Sprintf(where, want); err != nil || got != full {
					t.Errorf("%s: %s: %s %v, want %s", page, whole, got, err, full)
				}
				if column > 0 && !json.Valid([]byte(got)) {
					t.Errorf("%s is no JSON", got)
				}
			}
		}
		if rows < 10 {
			t.Errorf("%s: %d rows", page, rows)
		}
	}
}

// TestAResultCannotAskForASecret however it is put together.
func TestAResultCannotAskForASecret(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, message string }{
		{"${{ steps.a.message }}", "${{ secrets.DB }}"},
		{"${{ steps.a.message }} }}", "${{ secrets.DB"},
		{"$${{ steps.a.message }}", "{{ secrets.DB }}"},
		{"${{ steps.a.message }}{ secrets.DB }}", "${"},
		{"${{ secrets.A }} ${{ steps.a.message }}", "${{ secrets.A }}"},
		{"${{ steps.a.message }} ${{ secrets.A }}", "${{ planned }}"},
		{`{"a": "${{ steps.a.message }}"}`, "${{ secrets.DB }}"},
		{"${{ flow.param }}", ""},
	} {
		template, err := ParseTemplate(tt.text, testScope, keepSecrets)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		v := testValues()
		v.Param = "${{ secrets.DB }}"
		v.Steps["a"] = Step{Message: tt.message}
		got, err := template.Fill(v)
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindBraces {
			t.Errorf("%s with %s: %q %v", tt.text, tt.message, got, err)
		}
	}
}

func FuzzExpression(f *testing.F) {
	for _, text := range []string{"", "steps.a.output.rows > 3 && success()", "map(steps.list.items, {'a': #, 'b': #index})", "filter(1..9, # in [1, 2.5, '3'])[0:2]",
		"planned('yyyy', '+1d') matches \"^2\"", "item?.x ?? [nil][0]", "toJSON(fromJSON(flow.param))", "-(1 - 2) ** 3 / 0 ..5", "'a' not in {'b': 1} ? 1 : 2", "any() | len()"} {
		f.Add(text, `{"x": [1, "${{ secrets.A }}"]}`)
	}
	f.Fuzz(func(t *testing.T, text, message string) {
		p, err := Compile(text, testScope)
		if err != nil {
			if !errors.As(err, new(*Error)) {
				t.Fatalf("%T", err)
			}
			return
		}
		v := testValues()
		output, _ := DecodeJSON(message)
		v.Param, v.Steps["a"] = message, Step{State: "success", Message: message, Output: output}
		got, err := p.Eval(v)
		again, errAgain := p.Eval(v)
		one, errOne := textOf(got)
		two, errTwo := textOf(again)
		if (err == nil) != (errAgain == nil) || one != two || (errOne == nil) != (errTwo == nil) {
			t.Errorf("%q: %q %v, then %q %v", text, one, err, two, errAgain)
		}
		if err != nil && !errors.As(err, new(*Error)) {
			t.Fatalf("%T", err)
		}
		whole := "x ${{ secrets.A }} ${{ " + text + " }} y"
		template, err := ParseTemplate(whole, testScope, keepSecrets)
		if err != nil {
			return
		}
		filled, err := template.Fill(v)
		if err != nil {
			return
		}
		var secrets []string
		Each(filled, func(inside string) { secrets = append(secrets, inside) })
		for _, s := range secrets {
			if !strings.Contains(whole, s) {
				t.Errorf("%q: %q", whole, filled)
			}
		}
	})
}
