package expr

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	lang "github.com/expr-lang/expr"
)

// effort is what an evaluation has done. It is handed to every function.
type effort struct {
	values   *Values
	used     int
	made     int // elements of lists
	patterns map[string]*pattern
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

// make counts the elements of a list that is made.
func (e *effort) make(elements int) error {
	if e.made += elements; e.made > maxList {
		e.used = maxEffort + 1
		return errEffort
	}
	return e.use(elements)
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
	{"#key", key, []any{new(func(any, any) any)}},
	{"#slice", slice, []any{new(func(any, any, any, any) any)}},
	{"#range", span, []any{new(func(any, int, int) []any)}},
	{"#add", add, []any{new(func(any, any, any) any)}},
	{"#subtract", subtract, []any{new(func(any, any, any) any)}},
	{"#multiply", multiply, []any{new(func(any, any, any) any)}},
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
	names := map[string]bool{"success": true, "failure": true, "always": true, "any": true, "cancelled": true}
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
	return nil, because("length", "Kind", kindOf(args[0]))
}

func toInt(e *effort, args []any) (any, error) {
	switch v := args[0].(type) {
	case int:
		return v, nil
	case int64:
		return int(v), nil
	case float64:
		if math.IsNaN(v) || math.Abs(v) >= 1<<63 {
			return nil, errLarge
		}
		return int(v), nil
	case string:
		if err := e.look(v); err != nil {
			return nil, err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		if err != nil {
			return nil, because("textwhole")
		}
		return int(n), nil
	}
	return nil, because("number", "Kind", kindOf(args[0]))
}

func toFloat(e *effort, args []any) (any, error) {
	if v, ok := args[0].(string); ok {
		if err := e.look(v); err != nil {
			return nil, err
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if err != nil {
			return nil, because("textnumber")
		}
		return n, nil
	}
	if n, ok := number(args[0]); ok {
		return n, nil
	}
	return nil, because("number", "Kind", kindOf(args[0]))
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
	if err := e.make(strings.Count(v, by) + 1); err != nil {
		return nil, err
	}
	parts := strings.Split(v, by)
	list := make([]any, len(parts))
	for i, part := range parts {
		list[i] = part
	}
	return list, nil
}

func join2(e *effort, args []any) (any, error) {
	list, ok := listOf(args[0])
	if !ok {
		return nil, because("list", "Kind", kindOf(args[0]))
	}
	by, err := aText(args[1])
	if err != nil {
		return nil, err
	}
	if err := e.use(len(list)); err != nil {
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
		return nil, because("json")
	}
	return value, e.use(weight(value))
}

// weight is what a decoded value takes in memory: a map more than ten times as much as a number.
func weight(v any) int {
	total := 4
	switch v := v.(type) {
	case []any:
		for _, part := range v {
			total += weight(part)
		}
	case map[string]any:
		total += 16
		for _, part := range v {
			total += weight(part)
		}
	}
	return total
}

func keys(e *effort, args []any) (any, error) {
	return forKeys(e, args[0], func(_ map[string]any, key string) any { return key })
}

func valuesOf(e *effort, args []any) (any, error) {
	return forKeys(e, args[0], func(m map[string]any, key string) any { return m[key] })
}

// forKeys is a list of something for each key, in their order.
func forKeys(e *effort, v any, of func(m map[string]any, key string) any) (any, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, because("keys", "Kind", kindOf(v))
	}
	if err := e.make(len(m)); err != nil {
		return nil, err
	}
	list := make([]any, 0, len(m))
	for _, key := range sortedKeys(m) {
		list = append(list, of(m, key))
	}
	return list, nil
}

func first(_ *effort, args []any) (any, error) { return at(args[0], func(int) int { return 0 }) }

func last(_ *effort, args []any) (any, error) { return at(args[0], func(n int) int { return n - 1 }) }

func at(v any, which func(n int) int) (any, error) {
	list, ok := listOf(v)
	if !ok {
		return nil, because("list", "Kind", kindOf(v))
	}
	if len(list) == 0 {
		return nil, nil
	}
	return list[which(len(list))], nil
}

func sum(e *effort, args []any) (any, error) {
	list, ok := listOf(args[0])
	if !ok {
		return nil, because("list", "Kind", kindOf(args[0]))
	}
	if err := e.use(len(list)); err != nil {
		return nil, err
	}
	var total any = 0
	for _, v := range list {
		if _, ok := number(v); !ok {
			return nil, because("number", "Kind", kindOf(v))
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
