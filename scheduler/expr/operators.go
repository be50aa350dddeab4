package expr

import (
	"math"
	"math/bits"
	"regexp"
	"regexp/syntax"
)

var errLarge = because("large")

// calculate does something to two numbers: to whole ones without going round at the largest.
func calculate(args []any, doing string, whole func(a, b int) (result int, fits bool), broken func(a, b float64) float64) (any, error) {
	if a, ok := args[0].(int); ok {
		if b, ok := args[1].(int); ok {
			result, fits := whole(a, b)
			if !fits {
				return nil, errLarge
			}
			return result, nil
		}
	}
	a, ok1 := number(args[0])
	b, ok2 := number(args[1])
	if !ok1 || !ok2 {
		return nil, because(doing, "Kind", kindOf(args[0]), "Other", kindOf(args[1]))
	}
	return broken(a, b), nil
}

func subtract(_ *effort, args []any) (any, error) {
	return calculate(args, "subtracting", func(a, b int) (int, bool) { return a - b, (a-b < a) == (b > 0) }, func(a, b float64) float64 { return a - b })
}

func multiply(_ *effort, args []any) (any, error) {
	return calculate(args, "multiplying", func(a, b int) (int, bool) {
		high, low := bits.Mul64(size(a), size(b))
		return a * b, high == 0 && (low <= math.MaxInt64 || low == 1<<63 && (a < 0) != (b < 0))
	}, func(a, b float64) float64 { return a * b })
}

// size is a number without its sign.
func size(a int) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// span is the list of the whole numbers from one to another.
func span(e *effort, args []any) (any, error) {
	from, ok1 := args[0].(int)
	to, ok2 := args[1].(int)
	if !ok1 || !ok2 {
		return nil, because("range", "Kind", kindOf(args[0]), "Other", kindOf(args[1]))
	}
	if from > to {
		return []any{}, nil
	}
	count := uint64(to) - uint64(from) // one less than there are, so that it fits
	if err := e.make(int(min(count, maxList)) + 1); err != nil {
		return nil, err
	}
	list := make([]any, count+1)
	for i := range list {
		list[i] = from + i
	}
	return list, nil
}

// key counts the bytes of a key that is looked up.
func key(e *effort, args []any) (any, error) {
	if text, ok := args[0].(string); ok {
		return text, e.look(text)
	}
	return args[0], nil
}

// slice is a part of a text, by its characters as [length] counts them, or of a list. An end that is negative is counted from behind.
func slice(e *effort, args []any) (any, error) {
	if args[0] == nil {
		return nil, nil
	}
	text, isText := args[0].(string)
	list, isList := listOf(args[0])
	if !isText && !isList {
		return nil, because("parts", "Kind", kindOf(args[0]))
	}
	if err := e.look(text, text); err != nil {
		return nil, err
	}
	characters := []rune(text)
	n := len(list) + len(characters)
	ends := [2]int{0, n}
	for i, v := range args[1:] {
		if v == nil {
			continue
		}
		at, ok := v.(int)
		if !ok {
			return nil, because("place", "Kind", kindOf(v), "Other", kindOf(args[0]))
		}
		if at < 0 {
			at += n
		}
		ends[i] = max(min(at, n), 0)
	}
	from, to := min(ends[0], ends[1]), ends[1]
	if isText {
		return string(characters[from:to]), nil
	}
	return list[from:to], nil
}

func add(e *effort, args []any) (any, error) {
	switch a := args[0].(type) {
	case int:
		if b, ok := args[1].(int); ok {
			if sum := a + b; (sum > a) == (b > 0) {
				return sum, nil
			}
			return nil, errLarge
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
		return nil, because("adding", "Kind", kindOf(args[0]), "Other", kindOf(args[1]))
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
		return isText && has, e.look(key)
	}
	list, ok := listOf(args[1])
	if !ok {
		if args[1] == nil {
			return false, nil
		}
		return nil, because("inside", "Kind", kindOf(args[1]))
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

// Bounds of a regular expression: its bytes, and the instructions that it becomes, of which ".{1000}" has a thousand.
const (
	maxPattern      = 200
	maxInstructions = 1000
)

// pattern is a regular expression. A match may look at each byte with each of its instructions.
type pattern struct {
	*regexp.Regexp
	instructions int
}

func newPattern(text string) (*pattern, error) {
	if len(text) > maxPattern {
		return nil, because("pattern", "Max", maxPattern)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if len(program.Inst) > maxInstructions {
		return nil, because("repeats")
	}
	compiled, err := regexp.Compile(text)
	return &pattern{compiled, len(program.Inst)}, err
}

func matches(e *effort, args []any) (any, error) {
	a, text, err := twoTexts(args)
	if err != nil {
		return nil, err
	}
	p, known := e.patterns[text]
	if !known {
		if err := e.use(100 * (1 + min(len(text), maxPattern))); err != nil {
			return nil, err
		}
		if p, err = newPattern(text); err != nil {
			return nil, err
		}
		if e.patterns == nil {
			e.patterns = make(map[string]*pattern)
		}
		e.patterns[text] = p
	}
	if err := e.use(1 + (len(text)+len(a)*p.instructions)/16); err != nil {
		return nil, err
	}
	return p.MatchString(a), nil
}

func ordered(holds func(c int) bool) func(*effort, []any) (any, error) {
	return func(e *effort, args []any) (any, error) {
		c, err := e.compare(args[0], args[1])
		return err == nil && holds(c), err
	}
}
