package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/db/seal"
	"github.com/punctual-job/punctual/scheduler/expr"
)

func fill(text string, values map[string]string) string {
	return expr.Fill(text, func(inside string) (string, bool) { return Value(inside, values) })
}

func TestNamesAreFoundAndFilled(t *testing.T) {
	t.Parallel()
	values := map[string]string{"A": `quo"te`, "B_2": "line1\nline2"}
	for _, tt := range []struct {
		name, text string
		names      []string
		want       string
	}{
		{"nothing", "a=${B}", nil, "a=${B}"},
		{"in a line", "x ${{ secrets.A }} y", []string{"A"}, `x quo"te y`},
		{"without blanks, in any case", "${{secrets.b_2}}${{  secrets.B_2  }}", []string{"B_2"}, "line1\nline2line1\nline2"},
		{"in JSON no value ends its string", `{"h":"Bearer ${{ secrets.A }}","d":"${{ secrets.B_2 }}"}`, []string{"A", "B_2"}, `{"h":"Bearer quo\"te","d":"line1\nline2"}`},
		{"an unknown one stays", "${{ secrets.C }}", []string{"C"}, "${{ secrets.C }}"},
		{"another kind of expression", "${{ planned }} ${{ secrets.A-B }}", nil, "${{ planned }} ${{ secrets.A-B }}"},
		{"a value that looks like a name is not filled again", "${{ secrets.A }}", []string{"A"}, `quo"te`},
	} {
		if got := Names(tt.text); !slices.Equal(got, tt.names) {
			t.Errorf("%s: names %q, want %q", tt.name, got, tt.names)
		}
		if got := fill(tt.text, values); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := fill(`{"a":"${{ secrets.A }}"}`, map[string]string{"A": `","b":"x`}); !json.Valid([]byte(got)) || strings.Contains(got, `,"b":"x`) {
		t.Errorf("a value breaks out of its string: %s", got)
	}
	if got := fill("${{ secrets.A }}", map[string]string{"A": "${{ secrets.B }}", "B": "x"}); got != "${{ secrets.B }}" {
		t.Errorf("a value is filled again: %q", got)
	}
}

func TestAScriptsEnvironmentStandsInItsComments(t *testing.T) {
	t.Parallel()
	source := "#!/bin/bash\n# punctual:env PASSWORD=${{ secrets.DB }}\n// punctual:env URL=https://x/?k=${{ secrets.KEY }}&y \r\n-- punctual:env PLAIN=1\n" +
		"echo punctual:env NO=${{ secrets.NO }}\n# punctual:env 1BAD=x\necho ${{ secrets.TEXT }}\n"
	want := map[string]string{"PASSWORD": "p", "URL": "https://x/?k=k&y", "PLAIN": "1"}
	if diff := cmp.Diff(want, Environment(source, func(inside string) (string, bool) {
		return Value(inside, map[string]string{"DB": "p", "KEY": "k", "NO": "no", "TEXT": "t"})
	})); diff != "" {
		t.Error(diff)
	}
	if got := InSource(source); !slices.Equal(got, []string{"DB", "KEY"}) {
		t.Errorf("names %q", got)
	}
}

func TestMasksAreEveryFormOfAValue(t *testing.T) {
	t.Parallel()
	masks := Masks(map[string]string{"A": `p"ss word/1`, "KEY": "-----BEGIN\nMIIabc\nx\n", "SHORT": "abc"})
	for _, want := range []string{`p"ss word/1`, `p\"ss word/1`, "p%22ss+word%2F1", "p%22ss%20word%2F1", "-----BEGIN", "MIIabc"} {
		if !slices.Contains(masks, want) {
			t.Errorf("%q is not masked", want)
		}
	}
	// As programs write one in which every character stands that some of them write otherwise.
	odd := Masks(map[string]string{"A": `a/b+c&d<"e'f=g!h~i*j ü😀`})
	for by, want := range map[string]string{
		"itself":               `a/b+c&d<"e'f=g!h~i*j ü😀`,
		"encoding/json":        `a/b+c\u0026d\u003c\"e'f=g!h~i*j ü😀`,
		"JSON.stringify":       `a/b+c&d<\"e'f=g!h~i*j ü😀`,
		"json.dumps":           `a/b+c&d<\"e'f=g!h~i*j \u00fc\ud83d\ude00`,
		"json_encode":          `a\/b+c&d<\"e'f=g!h~i*j \u00fc\ud83d\ude00`,
		"json_encode, unicode": `a\/b+c&d<\"e'f=g!h~i*j ü😀`,
		"Gson":                 `a/b+c\u0026d\u003c\"e\u0027f\u003dg!h~i*j ü😀`,
		"url.QueryEscape":      "a%2Fb%2Bc%26d%3C%22e%27f%3Dg%21h~i%2Aj+%C3%BC%F0%9F%98%80",
		"url.PathEscape":       "a%2Fb+c&d%3C%22e%27f=g%21h~i%2Aj%20%C3%BC%F0%9F%98%80",
		"rawurlencode":         "a%2Fb%2Bc%26d%3C%22e%27f%3Dg%21h~i%2Aj%20%C3%BC%F0%9F%98%80",
		"urlencode":            "a%2Fb%2Bc%26d%3C%22e%27f%3Dg%21h%7Ei%2Aj+%C3%BC%F0%9F%98%80",
		"encodeURIComponent":   "a%2Fb%2Bc%26d%3C%22e'f%3Dg!h~i*j%20%C3%BC%F0%9F%98%80",
		"encodeURI":            "a/b+c&d%3C%22e'f=g!h~i*j%20%C3%BC%F0%9F%98%80",
		"urllib.parse.quote":   "a/b%2Bc%26d%3C%22e%27f%3Dg%21h~i%2Aj%20%C3%BC%F0%9F%98%80",
		"JSON in JSON":         `a/b+c\\u0026d\\u003c\\\"e'f=g!h~i*j ü😀`,
		"JSON in an address":   "a%2Fb%2Bc%5Cu0026d%5Cu003c%5C%22e%27f%3Dg%21h~i%2Aj+%C3%BC%F0%9F%98%80",
		"java.net.URLEncoder":  "a%2Fb%2Bc%26d%3C%22e%27f%3Dg%21h%7Ei*j+%C3%BC%F0%9F%98%80",
		"HttpUtility":          "a%2fb%2bc%26d%3c%22e%27f%3dg%21h%7ei*j+%c3%bc%f0%9f%98%80",
	} {
		if !slices.Contains(odd, want) {
			t.Errorf("%s: %q is not masked", by, want)
		}
	}
	masked := slices.DeleteFunc(Masks(map[string]string{"A": "plain-and_simple.1"}), func(mask string) bool { return slices.Contains(inBase64("plain-and_simple.1"), mask) })
	if len(masked) != 1 {
		t.Errorf("what all write alike is masked as %q", masked)
	}
	if slices.Contains(masks, "x") || slices.Contains(masks, "abc") {
		t.Errorf("short words are masked: %q", masks)
	}
}

// TestABase64OfASecretIsMasked wherever the value stands in what is encoded: nothing of it stays but what it shares with its neighbours.
func TestABase64OfASecretIsMasked(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"correct-horse", "p\xc3\xbf\xc3\xbe?>~~word", "twelve chars"} {
		masks := Masks(map[string]string{"A": value})
		hidden := func(text string) string {
			for _, mask := range masks {
				text = strings.ReplaceAll(text, mask, "*")
			}
			return text
		}
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			for before := range 7 {
				for after := range 4 {
					head, tail := "user:x"[:before], "}}}"[:after]
					text := encoding.EncodeToString([]byte(head + value + tail))
					for _, text := range []string{text, url.QueryEscape(text)} {
						// Beside the value: the letters of what stands before and after it, one more each that both are in, and padding.
						if got := hidden(text); !strings.Contains(got, "*") || len(strings.NewReplacer("*", "", "%3D", "", "=", "").Replace(got)) > (before*4+2)/3+(after*4+2)/3+2 {
							t.Errorf("%q behind %d and before %d: %s stays as %s", value, before, after, text, got)
						}
					}
				}
			}
		}
	}
	lines := Masks(map[string]string{"KEY": "first \"line\"\nsecond line\n"})
	if want := `first \\\"line\\\"`; !slices.Contains(lines, want) {
		t.Errorf("a line as a text in JSON in JSON, %s, is not masked", want)
	}
}

func TestSecretsAreSealedForTheirRow(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ctx := t.Context()
		sealing, err := seal.New(bytes.Repeat([]byte{1}, seal.KeyBytes))
		if err != nil {
			t.Fatal(err)
		}
		s := NewStore(sealing)
		for _, v := range []string{"first value", "the value"} {
			if err := s.Set(ctx, pool, 7, "Db_Password", v, "ann", 1); err != nil {
				t.Fatal(err)
			}
		}
		values, missing, err := s.Resolve(ctx, pool, 7, []string{"DB_PASSWORD", "NONE"})
		if err != nil || values["DB_PASSWORD"] != "the value" || !slices.Equal(missing, []string{"NONE"}) {
			t.Errorf("%v %v %v", values, missing, err)
		}
		if _, missing, err := s.Resolve(ctx, pool, 8, []string{"DB_PASSWORD"}); err != nil || len(missing) != 1 {
			t.Errorf("another group: %v %v", missing, err)
		}
		var stored string
		if err := pool.QueryRowContext(ctx, "SELECT value FROM punctual_secret").Scan(&stored); err != nil || !seal.Sealed(stored) || strings.Contains(stored, "value") {
			t.Errorf("stored %q, %v", stored, err)
		}
		if _, err := pool.ExecContext(ctx, "INSERT INTO punctual_secret (group_id, name, value) VALUES (8, 'MINE', ?)", stored); err != nil {
			t.Fatal(err)
		}
		if values, _, err := s.Resolve(ctx, pool, 8, []string{"MINE"}); err == nil {
			t.Errorf("a copied row opens: %v", values)
		}
		none := NewStore(nil)
		if _, _, err := none.Resolve(ctx, pool, 7, []string{"DB_PASSWORD"}); !errors.Is(err, ErrNoKey) {
			t.Errorf("without a key: %v", err)
		}
		if err := none.Set(ctx, pool, 7, "X", "value", "ann", 1); !errors.Is(err, ErrNoKey) {
			t.Errorf("set without a key: %v", err)
		}
	})
}
