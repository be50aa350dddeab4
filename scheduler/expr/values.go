package expr

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

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
		return 0, because("order", "Kind", kindOf(a), "Other", kindOf(b))
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
		i, whole1 := a.(int)
		j, whole2 := b.(int)
		if whole1 && whole2 {
			return i == j, nil // as floating numbers, large ones that differ are the same
		}
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
	case json.Number:
		return x == b, e.use(len(x) / 16)
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false, nil
		}
		for key, v := range x {
			if err := e.use(len(key) / 16); err != nil {
				return false, err
			}
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
			return because("endless")
		}
		b.Write(raw)
		return nil
	case json.Number:
		b.WriteString(v.String())
		return e.use(len(v) / 16)
	case string:
		if err := e.use(len(v) / 16); err != nil {
			return err
		}
		b.WriteByte('"')
		b.WriteString(InJSON(v))
		b.WriteByte('"')
		return nil
	case map[string]any:
		b.WriteByte('{')
		for i, key := range sortedKeys(v) {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := e.use(len(key) / 16); err != nil {
				return err
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
		return because("notext", "Kind", kindOf(v))
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

// DecodeJSON reads a JSON text: whole numbers that fit as int, other numbers as float64, and those that neither holds as [json.Number], which is
// handed on as it is written, and nothing is computed of it. ok is false for what is no JSON.
func DecodeJSON(text string) (value any, ok bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil, false
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
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
		if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			return f
		}
		return v // larger than any number, or whole and more exact than one: its digits are all there is
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
	list, ok := v.([]any)
	return list, ok
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func aText(v any) (string, error) {
	text, ok := v.(string)
	if !ok {
		return "", because("text", "Kind", kindOf(v))
	}
	return text, nil
}

func twoTexts(args []any) (a, b string, err error) {
	if a, err = aText(args[0]); err == nil {
		b, err = aText(args[1])
	}
	return a, b, err
}

// clean is a message of the library on one line.
func clean(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	if len(line) > 300 {
		line = strings.ToValidUTF8(line[:300], "") + "…"
	}
	return line
}
