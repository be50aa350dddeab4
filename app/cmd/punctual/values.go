package main

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// values have the parser say of a value what would be one: the words of Go's own readers are for who writes programs.
var values = kong.OptionFunc(func(k *kong.Kong) error {
	return errors.Join(
		kong.TypeMapper(reflect.TypeFor[time.Time](), reads("a moment", "2026-12-31T23:30:00+08:00 or 2026-12-31T15:30:00Z", func(text string, to reflect.Value) error {
			at, err := time.Parse(time.RFC3339, text)
			to.Set(reflect.ValueOf(at))
			return err
		})).Apply(k),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), reads("a length of time", "90s, 10m or 1h30m", func(text string, to reflect.Value) error {
			long, err := time.ParseDuration(text)
			to.SetInt(int64(long))
			return err
		})).Apply(k),
		kong.KindMapper(reflect.Int, whole).Apply(k),
		kong.KindMapper(reflect.Int64, whole).Apply(k),
		kong.KindMapper(reflect.String, reads("", "", func(text string, to reflect.Value) error {
			to.SetString(text)
			return nil
		})).Apply(k),
	)
})

// missing says of a command that lacks arguments which they are, and how it is written.
func missing(err error) error {
	parse, ok := errors.AsType[*kong.ParseError](err)
	if !ok || parse.Context == nil || parse.Context.Selected() == nil || !strings.HasPrefix(err.Error(), `expected "<`) {
		return err
	}
	command := parse.Context.Selected()
	var names []string
	for _, a := range command.Positional {
		if a.Required && !a.Set {
			names = append(names, a.Summary())
		}
	}
	verb := "is"
	if len(names) > 1 {
		verb = "are"
	}
	return usageError{fmt.Sprintf("%s %s missing: punctual %s", strings.Join(names, " and "), verb, command.Summary()), err}
}

// usageError is what the parser found, in other words.
type usageError struct {
	said string
	err  error
}

func (e usageError) Error() string { return e.said }
func (e usageError) Unwrap() error { return e.err }

// whole reads an integer, in decimal digits only: 010 is ten.
var whole = reads("a whole number", "10", func(text string, to reflect.Value) error {
	n, err := strconv.ParseInt(text, 10, to.Type().Bits())
	to.SetInt(n)
	return err
})

// reads makes a mapper of what reads a text, which says what it wanted, and an example.
func reads(what, such string, read func(text string, to reflect.Value) error) kong.MapperFunc {
	return func(c *kong.DecodeContext, to reflect.Value) error {
		token := c.Scan.Pop()
		switch {
		case token.IsEOL():
			return errors.New("it wants a value")
		case !token.IsValue():
			return fmt.Errorf("it wants a value; one that begins with - stands behind an =, as in --%s=%s", c.Value.Name, token)
		}
		text := fmt.Sprint(token.Value)
		if read(text, to) != nil {
			return fmt.Errorf("%q is not %s; write one such as %s", text, what, such)
		}
		return nil
	}
}
