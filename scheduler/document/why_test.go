package document

import (
	"fmt"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/scheduler/invalid"
)

// What people do wrong is told by its line and in words that have translations, never in those of a parser.
func TestWhyATextIsRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"a comma is missing", "{\n\"a\": 1\n\"b\": 2}", `3 comma "`},
		{"a comma is missing in a list", "{\"a\": [1\n2]}", "2 comma 2"},
		{"a colon is missing", "{\n\"a\" 1}", "2 colon 1"},
		{"a comma after the last name", "{\"a\": 1,\n}", "2 name }"},
		{"a comma after the last value", "{\"a\": [1,\n]}", "2 value ]"},
		{"a name without quotes", "{\n\n a: 1}", "3 name a"},
		{"Chinese quotes", "{\n“a”: 1}", "2 name “"},
		{"a quote is not closed", "{\"a\": \"b\n}", "1 quoted ↵"},
		{"a word that is none", "{\"a\":\n trve}", "2 word v"},
		{"it is cut off", "{\n\"a\": [\n\n", "4 end"},
		{"it goes on", "{}\n\n x", "3 after x"},
		{"a tab", "a:\n  - b\n\t- c", "3 tab"},
		{"a colon in a text", "a: b\nc: d: e", "2 mapping"},
		{"an indentation", "a:\n    b: 1\n  c: 2", "3 key"},
		{"no name", "a: 1\nb", "2 key"},
		{"a list that is not one", "a:\n  - b\n  c: 1", "3 item"},
		{"a bracket", "a: [b, c\nd: e", "1 bracket"},
		{"a bracket at the end", "a: [", "1 bracket"},
		{"a quote", "a: \"b\nc: d", "1 quote"},
		{"an at sign", "a: 1\nb: @c", "2 start"},
		{"a backslash", `a: "\p"`, "1 escape"},
		{"a bell", "a: 1\nb: \a", "2 control"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, fault := Read([]byte(tt.text), 1<<20)
			if fault == nil {
				t.Fatal("it is read")
			}
			why := fault.Said()
			got := fmt.Sprintf("%d %s", fault.Line, strings.TrimPrefix(why.Key, "import.why."))
			if len(why.Args) == 2 {
				got += " " + why.Args[1].(string)
			}
			if !strings.HasPrefix(why.Key, "import.why.") || got != tt.want {
				t.Errorf("%q, want %q (%v)", got, tt.want, fault)
			}
		})
	}
}

// The reason goes into messages as a message of its own.
func TestAReasonIsAMessage(t *testing.T) {
	t.Parallel()
	fault := FaultAt(3, CodeSyntax, "Reason", invalid.Field{Key: whyTab})
	if got, want := fault.Text(printer{}), CodeSyntax+" Reason="+whyTab; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// printer prints keys and values.
type printer struct{}

func (printer) T(key string, args ...any) string {
	for i := 0; i+1 < len(args); i += 2 {
		key += fmt.Sprintf(" %v=%v", args[i], args[i+1])
	}
	return key
}
