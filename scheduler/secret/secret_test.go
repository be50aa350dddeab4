package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

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
		"html.EscapeString":    "a/b+c&amp;d&lt;&#34;e&#39;f=g!h~i*j ü😀",
		"XMLSerializer":        `a/b+c&amp;d&lt;&quot;e'f=g!h~i*j ü😀`,
		"html.escape":          "a/b+c&amp;d&lt;&quot;e&#x27;f=g!h~i*j ü😀",
		"htmlspecialchars":     "a/b+c&amp;d&lt;&quot;e&#039;f=g!h~i*j ü😀",
		"HtmlEncode":           "a/b+c&amp;d&lt;&quot;e&#39;f=g!h~i*j ü😀",
		"libxml":               "a/b+c&amp;d&lt;&quot;e&apos;f=g!h~i*j ü😀",
		"xxd -p":               "612f622b6326643c226527663d6721687e692a6a20c3bcf09f9880",
		"HttpUtility":          "a%2fb%2bc%26d%3c%22e%27f%3dg%21h%7ei*j+%c3%bc%f0%9f%98%80",
	} {
		if !slices.Contains(odd, want) {
			t.Errorf("%s: %q is not masked", by, want)
		}
	}
	masked := slices.DeleteFunc(Masks(map[string]string{"A": "plain-and_simple.1"}), func(mask string) bool {
		return slices.Contains(slices.Concat(inBase64("plain-and_simple.1"), hexadecimals("plain-and_simple.1")), mask)
	})
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

// FuzzMasks looks for a value in what the encoders of the standard library make of it: nothing of it stays but, in base64, what its ends share
// with their neighbours.
func FuzzMasks(f *testing.F) {
	f.Add("correct-horse", "user:", "\n")
	f.Add("a/b+c&d<\"e'f=g!h~i*j ü😀", "", "")
	f.Add("-----BEGIN\nMIIabc\n", "x", "yz")
	f.Add(strings.Repeat("long secret ", 40), "", "\n")
	f.Fuzz(func(t *testing.T, value, before, after string) {
		if len(value) < MinValue || len(value) > maxBase64 || !utf8.ValidString(value) || len(before)+len(after) > 40 {
			t.Skip()
		}
		masks := Masks(map[string]string{"A": value})
		hidden := func(text string) string {
			for _, mask := range masks {
				text = strings.ReplaceAll(text, mask, "***")
			}
			return text
		}
		quoted, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := json.Marshal(string(quoted))
		if err != nil {
			t.Fatal(err)
		}
		for by, text := range map[string]string{
			"itself": value, "json": string(quoted[1 : len(quoted)-1]), "json in json": string(twice[3 : len(twice)-3]), "a query": url.QueryEscape(value), "a path": url.PathEscape(value),
			"html": html.EscapeString(value), "hex": hex.EncodeToString([]byte(value)), "HEX": fmt.Sprintf("%X", value),
		} {
			if got := hidden(text); strings.Trim(got, "*") != "" {
				t.Errorf("%s: %q stays as %q", by, text, got)
			}
		}
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			// Of what comes before and after it, a letter each that both are in, and padding.
			beside := (len(before)*4+2)/3 + (len(after)*4+2)/3 + 2
			for _, text := range []string{encoding.EncodeToString([]byte(before + value + after)), url.QueryEscape(encoding.EncodeToString([]byte(before + value + after)))} {
				if got := strings.NewReplacer("***", "", "%3D", "", "=", "").Replace(hidden(text)); len(got) > beside+2*strings.Count(got, "%") {
					t.Errorf("%q behind %q and before %q: %s stays as %s", value, before, after, text, got)
				}
			}
		}
		for _, width := range base64Lines {
			var lines []string
			for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString([]byte(value+"\n"))), width) {
				lines = append(lines, string(line))
			}
			// A last line of less than what is masked at all, and the letter that the line end is in.
			if got := strings.NewReplacer("***", "", "\n", "", "=", "").Replace(hidden(strings.Join(lines, "\n"))); len(got) > 2*MinValue {
				t.Errorf("%q in lines of %d stays as %q", value, width, got)
			}
		}
	})
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

// BenchmarkMasks is what the longest value of short lines costs each run that names it.
func BenchmarkMasks(b *testing.B) {
	var value strings.Builder
	for i := 0; value.Len() < MaxValue-10; i++ {
		fmt.Fprintf(&value, "%04x\n", i)
	}
	for b.Loop() {
		Masks(map[string]string{"A": value.String()})
	}
}
