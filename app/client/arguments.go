package client

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// taken is what a tool takes, as assistants read it. Whole numbers are numbers of things, or how many of them: from 1 on.
func taken[In any]() (*jsonschema.Schema, error) {
	s, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, err
	}
	one := 1.0
	for _, p := range s.Properties {
		if p.Type == "integer" {
			p.Minimum = &one
		}
	}
	return s, nil
}

// read takes the arguments of a call, or says of each that is wrong what it has to be. null is what was left out.
func read(raw json.RawMessage, takes *jsonschema.Schema, into any) error {
	given := make(map[string]json.RawMessage)
	if len(raw) > 0 && json.Unmarshal(raw, &given) != nil {
		return errors.New("the arguments are one object, with each by its name")
	}
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		of, known := takes.Properties[name]
		switch {
		case !known && len(takes.Properties) == 0:
			wrong = append(wrong, fmt.Errorf("%s: this tool takes no arguments", shorten(name, 40)))
		case !known:
			wrong = append(wrong, fmt.Errorf("%s: this tool takes no such argument, but %s", shorten(name, 40), strings.Join(slices.Sorted(maps.Keys(takes.Properties)), ", ")))
		case string(given[name]) == "null":
			delete(given, name)
		default:
			value, err := argument(given[name], cmp.Or(of.Type, strings.Join(slices.DeleteFunc(slices.Clone(of.Types), func(t string) bool { return t == "null" }), "")))
			if err != nil {
				wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
				continue
			}
			given[name] = value
		}
	}
	for _, name := range takes.Required {
		if given[name] == nil {
			wrong = append(wrong, fmt.Errorf("%s: it is needed: %s", name, takes.Properties[name].Description))
		}
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	whole, err := json.Marshal(given)
	if err != nil {
		return err
	}
	return json.Unmarshal(whole, into)
}

// argument is one value, as Go reads its kind.
func argument(raw json.RawMessage, kind string) (json.RawMessage, error) {
	was := shorten(string(raw), 40)
	switch kind {
	case "integer":
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if f, is := strconv.ParseFloat(string(raw), 64); err != nil && (is == nil || errors.Is(is, strconv.ErrRange)) {
			switch {
			case f >= 1<<53:
				return nil, fmt.Errorf("%s is too large a number", was)
			case f <= 0 || f == float64(int64(f)): // 7.0, as some write it
				n, err = int64(max(f, 0)), nil
			}
		}
		if err != nil {
			return nil, fmt.Errorf("write a whole number such as 7, and not %s", was)
		}
		if n < 1 {
			return nil, fmt.Errorf("use 1 at least, and not %s", was)
		}
		return strconv.AppendInt(nil, n, 10), nil
	case "boolean":
		if !slices.Contains([]string{"true", "false"}, string(raw)) {
			return nil, fmt.Errorf("write true or false, and not %s", was)
		}
	default:
		if !bytes.HasPrefix(raw, []byte(`"`)) {
			return nil, fmt.Errorf("write a text in quotation marks, and not %s", was)
		}
	}
	return raw, nil
}
