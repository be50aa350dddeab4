package expr

import (
	"fmt"
	"regexp"
)

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
