package db_test

import (
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestPreparedQueriesAreOfNoValues: what a server keeps of a statement is not made for the values with which it came first. MariaDB changes a
// statement for good when it is executed for the first time.
func TestPreparedQueriesAreOfNoValues(t *testing.T) {
	t.Parallel()
	text, pool := dbtest.New(t, db.MySQL), dbtest.New(t, db.MySQL)
	db.KeepAtOnce(pool)
	seed(t, text)
	seed(t, pool)
	queries := reflect.ValueOf(db.New())
	call := func(on db.DBTX, method string, arg reflect.Value) (said any, statements []string) {
		heard := &overheard{DBTX: on}
		out := queries.MethodByName(method).Call([]reflect.Value{reflect.ValueOf(t.Context()), reflect.ValueOf(heard), arg})
		if err, _ := out[len(out)-1].Interface().(error); err != nil {
			return fmt.Sprint(err), heard.statements
		}
		return out[0].Interface(), heard.statements
	}
	compared := 0
	for method := range reflect.TypeFor[db.Querier]().Methods() {
		if method.Type.NumIn() < 3 {
			continue
		}
		undo, changes := errors.New("undo"), false
		variants := variations(method.Name, method.Type.In(2))
		want := make([]any, len(variants))
		err := text.Tx(t.Context(), func(tx *sql.Tx) error {
			for i, arg := range variants {
				var statements []string
				if want[i], statements = call(tx, method.Name, arg); slices.ContainsFunc(statements, func(s string) bool { return !reads.MatchString(s) }) {
					changes = true
					break
				}
			}
			return undo
		})
		if !errors.Is(err, undo) {
			t.Errorf("%s: %v", method.Name, err)
		}
		if changes {
			continue
		}
		for first := range variants {
			db.KeepAtOnce(pool) // a new session
			_, _ = call(pool, method.Name, variants[first])
			for i := range variants {
				got, _ := call(pool, method.Name, variants[i])
				compared++
				if diff := cmp.Diff(want[i], got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s, first with %+v, differs with %+v (-text +prepared):\n%s", method.Name, variants[first], variants[i], diff)
				}
			}
		}
	}
	if compared < 5000 {
		t.Errorf("only %d answers were compared", compared)
	}
}

// variations are the arguments of a method, and the same with one number of them, or all, being another.
func variations(method string, typ reflect.Type) []reflect.Value {
	list := []reflect.Value{argument(method, typ)}
	other := func(v reflect.Value, n int64) {
		switch kind := v.Kind(); {
		case v.CanInt():
			v.SetInt(n)
		case kind == reflect.Slice && v.Type().Elem().Kind() == reflect.Int64:
			list := reflect.MakeSlice(v.Type(), v.Len(), v.Len()) // the other is everybody's
			for i := range v.Len() {
				list.Index(i).SetInt(n + int64(i))
			}
			v.Set(list)
		case kind == reflect.String:
			v.SetString(fmt.Sprint("other", n))
		}
	}
	for _, n := range []int64{0, 2} {
		if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[sql.NullTime]() {
			v := argument(method, typ)
			other(v, n)
			list = append(list, v)
			continue
		}
		for i := range typ.NumField() {
			v := argument(method, typ)
			other(v.Field(i), n)
			list = append(list, v)
		}
	}
	return list
}
