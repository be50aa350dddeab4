package main

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/punctual-job/punctual/app/console"
	"github.com/punctual-job/punctual/app/manage"
)

// startup lists what this process was started with: every variable but those that the settings page has fields for. What is
// secret stays out of it.
func (c *serveCmd) startup() []console.StartupOption {
	var list []console.StartupOption
	for _, v := range variables(reflect.ValueOf(*c)) {
		if slices.ContainsFunc(manage.AllSettings(), func(s manage.Setting) bool { return s.Env == v.name }) {
			continue
		}
		o := console.StartupOption{Name: v.name, Secret: v.secret, Set: v.text != v.fallback}
		if !v.secret {
			o.Value = v.text
		}
		list = append(list, o)
	}
	return list
}

// variable is a setting of the process.
type variable struct {
	name, text, fallback string
	secret               bool
}

// variables reads the settings off the struct that kong filled, in its order.
func variables(v reflect.Value) []variable {
	var list []variable
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Anonymous {
			list = append(list, variables(v.Field(i))...)
			continue
		}
		name, ok := field.Tag.Lookup("env")
		if !ok {
			continue
		}
		_, secret := field.Tag.Lookup("secret")
		one := variable{name: name, fallback: field.Tag.Get("default"), secret: secret}
		if value := v.Field(i); !value.IsZero() {
			one.text = fmt.Sprint(value.Interface())
		}
		list = append(list, one)
	}
	return list
}
