package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/punctual-job/punctual/scheduler/invalid"
)

// Why a text is no YAML or JSON, as the Reason of [CodeSyntax]. The parsers say it in English, and in the words of a grammar; what people
// can act on are the few mistakes that they make.
const (
	whyEnd     = "import.why.end"     // the text ends too early
	whyAfter   = "import.why.after"   // it goes on after its end
	whyComma   = "import.why.comma"   // Character: stands where a comma or the end of the list or object is missing
	whyColon   = "import.why.colon"   // Character: stands where a colon is missing
	whyName    = "import.why.name"    // Character: stands where a name in quotes is missing
	whyValue   = "import.why.value"   // Character: stands where a value is missing
	whyQuoted  = "import.why.quoted"  // Character: must not stand in a quoted text
	whyWord    = "import.why.word"    // Character: is in no number, nor in true, false or null
	whyKey     = "import.why.key"     // a name with a colon is missing, or stands too far left or right
	whyItem    = "import.why.item"    // a dash is missing, or stands too far left or right
	whyMapping = "import.why.mapping" // a colon stands where no value can begin
	whyBracket = "import.why.bracket" // a bracket or brace is not closed, or a comma is missing
	whyQuote   = "import.why.quote"   // a quote is not closed
	whyStart   = "import.why.start"   // no value begins with this character
	whyTab     = "import.why.tab"     // a tab indents
	whyEscape  = "import.why.escape"  // what follows a backslash
	whyControl = "import.why.control" // a character that is not seen
	whyObject  = "import.why.object"  // it is no object
	whyOther   = "import.why.other"
)

// jsonWhys are what the decoder says of a character, in the order in which they are looked for.
var jsonWhys = []struct{ said, why string }{
	{"after object key:value pair", whyComma}, {"after array element", whyComma}, {"after object key", whyColon},
	{"after top-level value", whyAfter}, {"beginning of object key string", whyName}, {"beginning of value", whyValue},
	{"in string", whyQuoted}, {"in literal", whyWord}, {"in numeric literal", whyWord}, {"in exponent", whyWord}, {"after decimal point", whyWord},
}

// yamlWhys are what the parser says.
var yamlWhys = []struct{ said, why string }{
	{"tab character", whyTab}, {"cannot start any token", whyStart}, {"mapping values are not allowed", whyMapping},
	{"block sequence entries are not allowed", whyItem}, {"expected '-' indicator", whyItem}, {"expected ',' or", whyBracket},
	{"expected key", whyKey}, {"expected ':'", whyKey}, {"unexpected end of stream", whyQuote}, {"unexpected document indicator", whyQuote},
	{"node content", whyBracket}, {"escape", whyEscape}, {"control characters", whyControl}, {"document start", whyAfter},
}

// yamlWhy is what a parser's words mean of a line.
func yamlWhy(said string, line []byte) invalid.Field {
	if indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]; bytes.ContainsRune(indent, '\t') {
		return invalid.Field{Key: whyTab} // also where the parser has taken it for something else
	}
	for _, w := range yamlWhys {
		if strings.Contains(said, w.said) {
			return invalid.Field{Key: w.why}
		}
	}
	return invalid.Field{Key: whyOther}
}

// Said is what is wrong, without its line: why a text is no YAML or JSON, or else the fault itself.
func (f *Fault) Said() invalid.Field {
	if f.Key == CodeSyntax && len(f.Args) == 2 {
		if why, ok := f.Args[1].(invalid.Field); ok {
			return why
		}
	}
	return f.Field
}

func lineOf(raw []byte, offset int) int {
	return 1 + bytes.Count(raw[:max(0, min(offset, len(raw)))], []byte("\n"))
}

// JSONFault is where and why a decoder did not read a text, which had come to an offset; err is nil where it ended before the text.
func JSONFault(raw []byte, err error, offset int64) *Fault {
	// A decoder that goes by values or tokens counts otherwise than the text has bytes.
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(raw, new(json.RawMessage))); ok {
		why, at := invalid.Field{Key: whyOther}, int(syntax.Offset)-1 // it counts the character that is wrong
		if strings.HasPrefix(syntax.Error(), "unexpected end") {
			why.Key, at = whyEnd, len(raw)
		}
		for _, w := range jsonWhys {
			if strings.Contains(syntax.Error(), w.said) {
				why = invalid.Field{Key: w.why, Args: []any{"Character", shownAt(raw, at)}}
				break
			}
		}
		return FaultAt(lineOf(raw, at), CodeSyntax, "Reason", why)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field == "" {
			return FaultAt(lineOf(raw, int(wrong.Offset)), CodeSyntax, "Reason", invalid.Field{Key: whyObject})
		}
		return FaultAt(lineOf(raw, int(wrong.Offset)), codeOf(wrong.Type), "Field", wrong.Field)
	}
	if err != nil {
		if _, name, ok := strings.Cut(err.Error(), "unknown field "); ok {
			return FaultAt(lineOf(raw, int(offset)), CodeUnknown, "Field", strings.Trim(name, `"`))
		}
	}
	return FaultAt(lineOf(raw, int(offset)), CodeSyntax, "Reason", invalid.Field{Key: whyOther})
}

// shownAt is the character at an offset, of those that are not seen a sign.
func shownAt(raw []byte, at int) string {
	r, _ := utf8.DecodeRune(raw[max(0, min(at, len(raw))):])
	switch r {
	case '\n', '\r':
		return "↵"
	case '\t':
		return "⇥"
	}
	return string(r)
}

// codeOf says what a value has to be that goes into a type.
func codeOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return CodeText
	case reflect.Bool:
		return CodeFlag
	case reflect.Slice, reflect.Array:
		return CodeList
	case reflect.Struct, reflect.Map:
		return CodeMapping
	default:
		return CodeNumber
	}
}
