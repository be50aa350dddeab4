package expr

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	lang "github.com/expr-lang/expr"
)

// effort is what an evaluation has done. It is handed to every function.
type effort struct {
	values   *Values
	used     int
	patterns map[string]*regexp.Regexp
}

var errEffort = errors.New("it does too much")

func (e *effort) over() bool { return e.used > maxEffort }

// use counts steps.
func (e *effort) use(steps int) error {
	if e.used += steps; e.over() {
		return errEffort
	}
	return nil
}

// look counts the bytes of texts that are looked at or made.
func (e *effort) look(texts ...string) error {
	bytes := 0
	for _, text := range texts {
		bytes += len(text)
	}
	if bytes > MaxResult {
		e.used = maxEffort + 1
		return errEffort
	}
	return e.use(1 + bytes/16)
}

// function is one of ours. args are without the effort.
type function struct {
	name string
	does func(e *effort, args []any) (any, error)
	as   []any // its types, with the effort as the first argument
}

// own are the functions that expressions have, and after them what stands for operators. Each bounds itself: see [effort].
var own = []function{
	{"len", length, []any{new(func(any, any) int)}},
	{"int", toInt, []any{new(func(any, any) int)}},
	{"float", toFloat, []any{new(func(any, any) float64)}},
	{"string", toText, []any{new(func(any, any) string)}},
	{"trim", text1(strings.TrimSpace), []any{new(func(any, string) string)}},
	{"upper", text1(strings.ToUpper), []any{new(func(any, string) string)}},
	{"lower", text1(strings.ToLower), []any{new(func(any, string) string)}},
	{"split", split2, []any{new(func(any, string, string) []any)}},
	{"join", join2, []any{new(func(any, any, string) string)}},
	{"replace", replace3, []any{new(func(any, string, string, string) string)}},
	{"toJSON", toJSON, []any{new(func(any, any) string)}},
	{"fromJSON", fromJSON, []any{new(func(any, string) any)}},
	{"keys", keys, []any{new(func(any, any) []any)}},
	{"values", valuesOf, []any{new(func(any, any) []any)}},
	{"first", first, []any{new(func(any, any) any)}},
	{"last", last, []any{new(func(any, any) any)}},
	{"sum", sum, []any{new(func(any, any) any)}},
	{"min", least, []any{new(func(any, any, any) any)}},
	{"max", most, []any{new(func(any, any, any) any)}},
	{Word, plannedAs, []any{new(func(any, ...string) string)}},

	{"#tick", tick, []any{new(func(any, int) bool)}},
	{"#add", add, []any{new(func(any, any, any) any)}},
	{"#equal", equal, []any{new(func(any, any, any) bool)}},
	{"#unequal", unequal, []any{new(func(any, any, any) bool)}},
	{"#in", in, []any{new(func(any, any, any) bool)}},
	{"#contains", ofTexts(strings.Contains), []any{new(func(any, any, any) bool)}},
	{"#starts", ofTexts(strings.HasPrefix), []any{new(func(any, any, any) bool)}},
	{"#ends", ofTexts(strings.HasSuffix), []any{new(func(any, any, any) bool)}},
	{"#matches", matches, []any{new(func(any, any, any) bool)}},
	{"#less", ordered(func(c int) bool { return c < 0 }), []any{new(func(any, any, any) bool)}},
	{"#atmost", ordered(func(c int) bool { return c <= 0 }), []any{new(func(any, any, any) bool)}},
	{"#more", ordered(func(c int) bool { return c > 0 }), []any{new(func(any, any, any) bool)}},
	{"#atleast", ordered(func(c int) bool { return c >= 0 }), []any{new(func(any, any, any) bool)}},
}

// offered are the names of functions that people can write.
var offered = func() map[string]bool {
	names := map[string]bool{"success": true, "failure": true, "always": true, "any": true}
	for _, f := range own {
		if f.name[0] != '#' {
			names[f.name] = true
		}
	}
	return names
}()

// functions are they as the library takes them. Those that ask for a status are there so that any() is ours and not the library's.
var functions = func() []lang.Option {
	var list []lang.Option
	for _, f := range own {
		list = append(list, lang.Function(f.name, func(args ...any) (any, error) {
			e, ok := args[0].(*effort)
			if !ok {
				return nil, errors.New("a function was called from elsewhere") // the guard hands it to each
			}
			return f.does(e, args[1:])
		}, f.as...))
	}
	for name := range statuses {
		list = append(list, lang.Function(name, func(...any) (any, error) { return nil, errors.New(name) }, new(func() bool)))
	}
	return list
}()

func tick(e *effort, args []any) (any, error) { return true, e.use(1 + args[0].(int)) }

func length(e *effort, args []any) (any, error) {
	switch v := args[0].(type) {
	case string:
		return utf8.RuneCountInString(v), e.look(v)
	case map[string]any:
		return len(v), nil
	}
	if list, ok := listOf(args[0]); ok {
		return len(list), nil
	}
	return nil, fmt.Errorf("%s has no length", kindOf(args[0]))
}

func toInt(e *effort, args []any) (any, error) {
	switch v := args[0].(type) {
	case int:
		return v, nil
	case int64:
		return int(v), nil
	case float64:
		if math.IsNaN(v) || math.Abs(v) >= 1<<63 {
			return nil, errors.New("the number is too large")
		}
		return int(v), nil
	case string:
		if err := e.look(v); err != nil {
			return nil, err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		if err != nil {
			return nil, errors.New("the text is no whole number")
		}
		return int(n), nil
	}
	return nil, fmt.Errorf("%s is no number", kindOf(args[0]))
}

func toFloat(e *effort, args []any) (any, error) {
	if v, ok := args[0].(string); ok {
		if err := e.look(v); err != nil {
			return nil, err
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if err != nil {
			return nil, errors.New("the text is no number")
		}
		return n, nil
	}
	if n, ok := number(args[0]); ok {
		return n, nil
	}
	return nil, fmt.Errorf("%s is no number", kindOf(args[0]))
}

func toText(e *effort, args []any) (any, error) { return e.text(args[0]) }

func text1(does func(string) string) func(*effort, []any) (any, error) {
	return func(e *effort, args []any) (any, error) {
		v, err := aText(args[0])
		if err == nil {
			err = e.look(v, v)
		}
		if err != nil {
			return nil, err
		}
		return does(v), nil
	}
}

func split2(e *effort, args []any) (any, error) {
	v, by, err := twoTexts(args)
	if err != nil {
		return nil, err
	}
	if err := e.look(v, by); err != nil {
		return nil, err
	}
	parts := strings.Split(v, by)
	if err := e.use(len(parts)); err != nil {
		return nil, err
	}
	list := make([]any, len(parts))
	for i, part := range parts {
		list[i] = part
	}
	return list, nil
}

func join2(e *effort, args []any) (any, error) {
	list, ok := listOf(args[0])
	if !ok {
		return nil, fmt.Errorf("%s is no list", kindOf(args[0]))
	}
	by, err := aText(args[1])
	if err != nil {
		return nil, err
	}
	parts := make([]string, len(list))
	bytes := 0
	for i, v := range list {
		if parts[i], err = e.text(v); err != nil {
			return nil, err
		}
		if bytes += len(parts[i]) + len(by); bytes > MaxResult {
			e.used = maxEffort + 1
			return nil, errEffort
		}
	}
	return strings.Join(parts, by), e.use(bytes / 16)
}

func replace3(e *effort, args []any) (any, error) {
	v, old, err := twoTexts(args)
	if err != nil {
		return nil, err
	}
	by, err := aText(args[2])
	if err != nil {
		return nil, err
	}
	if err := e.look(v, old, by); err != nil {
		return nil, err
	}
	if grown := len(v) + strings.Count(v, old)*max(len(by)-len(old), 0); grown > MaxResult || e.use(grown/16) != nil {
		e.used = maxEffort + 1
		return nil, errEffort
	}
	return strings.ReplaceAll(v, old, by), nil
}

func toJSON(e *effort, args []any) (any, error) { return e.json(args[0]) }

func fromJSON(e *effort, args []any) (any, error) {
	v, err := aText(args[0])
	if err != nil {
		return nil, err
	}
	if err := e.look(v, v, v, v); err != nil {
		return nil, err
	}
	value, ok := DecodeJSON(v)
	if !ok {
		return nil, errors.New("the text is no JSON")
	}
	return value, nil
}

func keys(e *effort, args []any) (any, error) {
	m, ok := args[0].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s has no keys", kindOf(args[0]))
	}
	if err := e.use(len(m)); err != nil {
		return nil, err
	}
	list := make([]any, 0, len(m))
	for _, key := range sortedKeys(m) {
		list = append(list, key)
	}
	return list, nil
}

func valuesOf(e *effort, args []any) (any, error) {
	m, ok := args[0].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s has no keys", kindOf(args[0]))
	}
	if err := e.use(len(m)); err != nil {
		return nil, err
	}
	list := make([]any, 0, len(m))
	for _, key := range sortedKeys(m) {
		list = append(list, m[key])
	}
	return list, nil
}

func first(_ *effort, args []any) (any, error) { return at(args[0], func(int) int { return 0 }) }

func last(_ *effort, args []any) (any, error) { return at(args[0], func(n int) int { return n - 1 }) }

func at(v any, which func(n int) int) (any, error) {
	list, ok := listOf(v)
	if !ok {
		return nil, fmt.Errorf("%s is no list", kindOf(v))
	}
	if len(list) == 0 {
		return nil, nil
	}
	return list[which(len(list))], nil
}

func sum(e *effort, args []any) (any, error) {
	list, ok := listOf(args[0])
	if !ok {
		return nil, fmt.Errorf("%s is no list", kindOf(args[0]))
	}
	var total any = 0
	for _, v := range list {
		if _, ok := number(v); !ok {
			return nil, fmt.Errorf("%s is no number", kindOf(v))
		}
		var err error
		if total, err = add(e, []any{total, v}); err != nil {
			return nil, err
		}
	}
	return total, nil
}

func least(e *effort, args []any) (any, error) { return pick(e, args, -1) }

func most(e *effort, args []any) (any, error) { return pick(e, args, 1) }

func pick(e *effort, args []any, want int) (any, error) {
	c, err := e.compare(args[0], args[1])
	if err != nil {
		return nil, err
	}
	if c == -want {
		return args[1], nil
	}
	return args[0], nil
}

// plannedAs is the planned time of the flow with the parts of ${{ planned | format, offset, zone }}.
func plannedAs(e *effort, args []any) (any, error) {
	parts := make([]string, 3)
	if len(args) > len(parts) {
		return nil, &Fault{PartWhole, ""}
	}
	for i := range args {
		text, err := aText(args[i])
		if err != nil {
			return nil, err
		}
		if len(text) > MaxText {
			return nil, errEffort
		}
		if parts[i] = strings.Trim(text, blank); strings.Count(text, "'")%2 != 0 {
			return nil, &Fault{PartFormat, text}
		}
	}
	p, fault := plannedOf(parts)
	if fault != nil {
		return nil, fault
	}
	return p.Text(e.values.Planned, zoneOr(e.values.Zone)), e.use(100)
}

func add(e *effort, args []any) (any, error) {
	switch a := args[0].(type) {
	case int:
		if b, ok := args[1].(int); ok {
			return a + b, nil
		}
	case string:
		b, err := e.text(args[1])
		if err == nil {
			err = e.look(a, b)
		}
		return a + b, err
	}
	if b, ok := args[1].(string); ok {
		a, err := e.text(args[0])
		if err == nil {
			err = e.look(a, b)
		}
		return a + b, err
	}
	a, ok1 := number(args[0])
	b, ok2 := number(args[1])
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("%s and %s cannot be added", kindOf(args[0]), kindOf(args[1]))
	}
	return a + b, nil
}

func equal(e *effort, args []any) (any, error) { return e.equal(args[0], args[1]) }

func unequal(e *effort, args []any) (any, error) {
	same, err := e.equal(args[0], args[1])
	return !same, err
}

func in(e *effort, args []any) (any, error) {
	if m, ok := args[1].(map[string]any); ok {
		key, isText := args[0].(string)
		_, has := m[key]
		return isText && has, nil
	}
	list, ok := listOf(args[1])
	if !ok {
		if args[1] == nil {
			return false, nil
		}
		return nil, fmt.Errorf("nothing is in %s", kindOf(args[1]))
	}
	for _, v := range list {
		if same, err := e.equal(args[0], v); same || err != nil {
			return same, err
		}
	}
	return false, nil
}

func ofTexts(does func(a, b string) bool) func(*effort, []any) (any, error) {
	return func(e *effort, args []any) (any, error) {
		a, b, err := twoTexts(args)
		if err == nil {
			err = e.look(a, b)
		}
		if err != nil {
			return nil, err
		}
		return does(a, b), nil
	}
}

// maxPattern is how long a regular expression may be.
const maxPattern = 200

func matches(e *effort, args []any) (any, error) {
	a, pattern, err := twoTexts(args)
	if err != nil {
		return nil, err
	}
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("a pattern has at most %d bytes", maxPattern)
	}
	re, known := e.patterns[pattern]
	if !known {
		if err := e.use(1000); err != nil {
			return nil, err
		}
		if re, err = regexp.Compile(pattern); err != nil {
			return nil, err
		}
		if e.patterns == nil {
			e.patterns = make(map[string]*regexp.Regexp)
		}
		e.patterns[pattern] = re
	}
	if err := e.use(1 + len(a)*(1+len(pattern)/16)/4); err != nil { // a match looks at each byte with each part of the pattern
		return nil, err
	}
	return re.MatchString(a), nil
}

func ordered(holds func(c int) bool) func(*effort, []any) (any, error) {
	return func(e *effort, args []any) (any, error) {
		c, err := e.compare(args[0], args[1])
		return err == nil && holds(c), err
	}
}

// compare puts two numbers or two texts in order.
func (e *effort) compare(a, b any) (int, error) {
	if x, ok := number(a); ok {
		if y, ok := number(b); ok {
			if i, whole := a.(int); whole {
				if j, whole := b.(int); whole {
					return order(i < j, i > j), nil
				}
			}
			return order(x < y, x > y), nil
		}
	}
	x, ok1 := a.(string)
	y, ok2 := b.(string)
	if !ok1 || !ok2 {
		return 0, fmt.Errorf("%s and %s have no order", kindOf(a), kindOf(b))
	}
	return strings.Compare(x, y), e.look(x, y)
}

func order(less, more bool) int {
	switch {
	case less:
		return -1
	case more:
		return 1
	}
	return 0
}

// equal compares values of any kind; a list may be in itself many times over, so every part counts.
func (e *effort) equal(a, b any) (bool, error) {
	if err := e.use(1); err != nil {
		return false, err
	}
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && x == y, nil
	}
	switch x := a.(type) {
	case nil:
		return b == nil, nil
	case bool:
		y, ok := b.(bool)
		return ok && x == y, nil
	case string:
		y, ok := b.(string)
		return ok && x == y, e.use(len(x) / 16)
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false, nil
		}
		for key, v := range x {
			w, there := y[key]
			if !there {
				return false, nil
			}
			if same, err := e.equal(v, w); !same || err != nil {
				return false, err
			}
		}
		return true, nil
	}
	x, ok1 := listOf(a)
	y, ok2 := listOf(b)
	if !ok1 || !ok2 || len(x) != len(y) {
		return false, nil
	}
	for i := range x {
		if same, err := e.equal(x[i], y[i]); !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

// text is a value as it stands in a text: a text as it is, nothing as nothing, lists and maps as JSON.
func (e *effort) text(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, e.look(v)
	}
	return e.json(v)
}

// json writes a value as JSON.
func (e *effort) json(v any) (string, error) {
	var b strings.Builder
	if err := e.write(&b, v, 0); err != nil {
		return "", err
	}
	return b.String(), nil
}

// maxNested is how deep lists and maps may be in each other.
const maxNested = 100

func (e *effort) write(b *strings.Builder, v any, depth int) error {
	if depth > maxNested || b.Len() > MaxResult {
		e.used = maxEffort + 1
		return errEffort
	}
	if err := e.use(1); err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
		return nil
	case bool:
		b.WriteString(strconv.FormatBool(v))
		return nil
	case int:
		b.WriteString(strconv.Itoa(v))
		return nil
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
		return nil
	case float64:
		raw, err := json.Marshal(v)
		if err != nil {
			return errors.New("the number has no end")
		}
		b.Write(raw)
		return nil
	case string:
		b.WriteByte('"')
		b.WriteString(InJSON(v))
		b.WriteByte('"')
		return e.use(len(v) / 16)
	case map[string]any:
		b.WriteByte('{')
		for i, key := range sortedKeys(v) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`"` + InJSON(key) + `":`)
			if err := e.write(b, v[key], depth+1); err != nil {
				return err
			}
		}
		b.WriteByte('}')
		return nil
	}
	list, ok := listOf(v)
	if !ok {
		return fmt.Errorf("%s has no text", kindOf(v))
	}
	b.WriteByte('[')
	for i, item := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := e.write(b, item, depth+1); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

// DecodeJSON reads a JSON text: whole numbers that fit as int, other numbers as float64. ok is false for what is no JSON.
func DecodeJSON(text string) (value any, ok bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil || decoder.More() {
		return nil, false
	}
	return plainNumbers(value), true
}

func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.Atoi(v.String()); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String() // larger than any number: the text is all there is
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = plainNumbers(v[key])
		}
	}
	return v
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func listOf(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case []int: // of a range
		list := make([]any, len(v))
		for i := range v {
			list[i] = v[i]
		}
		return list, true
	}
	return nil, false
}

func sortedKeys(m map[string]any) []string {
	list := make([]string, 0, len(m))
	for key := range m {
		list = append(list, key)
	}
	slices.Sort(list)
	return list
}

func aText(v any) (string, error) {
	text, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%s is no text", kindOf(v))
	}
	return text, nil
}

func twoTexts(args []any) (a, b string, err error) {
	if a, err = aText(args[0]); err == nil {
		b, err = aText(args[1])
	}
	return a, b, err
}

// kindOf names what a value is, in messages.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case bool:
		return "a truth value"
	case string:
		return "a text"
	case map[string]any:
		return "a map"
	}
	if _, ok := number(v); ok {
		return "a number"
	}
	if _, ok := listOf(v); ok {
		return "a list"
	}
	return "something else"
}

// clean is a message of the library on one line.
func clean(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	if len(line) > 300 {
		line = strings.ToValidUTF8(line[:300], "") + "…"
	}
	return line
}
