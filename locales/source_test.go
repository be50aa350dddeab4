package locales

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Keys are put together from values that the source declares somewhere. What is read here is read from there, so that a new value
// without a word is found. Each of these panics when there is nothing, because then something was renamed.

// constant is a text that a package declares.
type constant struct{ name, typ, value string }

var packages = make(map[string]*source)

// source is the Go of one directory, and its text with that of its templates.
type source struct {
	files     []*ast.File
	text      string
	constants []constant
}

func in(dir string) *source {
	if s := packages[dir]; s != nil {
		return s
	}
	s := &source{}
	packages[dir] = s
	entries, err := os.ReadDir(filepath.Join("..", dir))
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		name := filepath.Join("..", dir, e.Name())
		isGo := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(name, "_templ.go")
		if !isGo && !strings.HasSuffix(name, ".templ") {
			continue
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			panic(err)
		}
		s.text += string(raw)
		if isGo {
			f, err := parser.ParseFile(token.NewFileSet(), name, raw, parser.SkipObjectResolution)
			if err != nil {
				panic(err)
			}
			s.files = append(s.files, f)
		}
	}
	s.declared()
	return s
}

// declared gathers the constants.
func (s *source) declared() {
	for _, f := range s.files {
		for _, d := range f.Decls {
			group, ok := d.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			for _, spec := range group.Specs {
				v := spec.(*ast.ValueSpec)
				for i, name := range v.Names {
					if i >= len(v.Values) {
						continue
					}
					if text, ok := literal(v.Values[i]); ok {
						c := constant{name: name.Name, value: text}
						if t, ok := v.Type.(*ast.Ident); ok {
							c.typ = t.Name
						}
						s.constants = append(s.constants, c)
					}
				}
			}
		}
	}
}

func literal(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}

// some refuses an empty list.
func some(what string, list []string) []string {
	if len(list) == 0 {
		panic("there is nothing at " + what)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// typed are the constants of a type, without that which stands for none.
func typed(dir, name string) []string {
	var list []string
	for _, c := range in(dir).constants {
		if c.typ == name && c.value != "" {
			list = append(list, c.value)
		}
	}
	return some(dir+" "+name, list)
}

// named are the constants without a type whose names match.
func named(dir, pattern string) []string {
	form := regexp.MustCompile("^(?:" + pattern + ")$")
	var list []string
	for _, c := range in(dir).constants {
		if c.typ == "" && form.MatchString(c.name) {
			list = append(list, c.value)
		}
	}
	return some(dir+" "+pattern, list)
}

// listed are the texts that stand in a list: a variable, or what a function returns.
func listed(dir, name string) []string {
	var list []string
	gather := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				if text, ok := literal(e); ok {
					list = append(list, text)
				}
			}
			if x, ok := n.(*ast.Ident); ok {
				list = append(list, in(dir).valued(x.Name)...)
			}
			return true
		})
	}
	for _, f := range in(dir).files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.Name == name {
					gather(d.Body)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok && v.Names[0].Name == name {
						gather(v)
					}
				}
			}
		}
	}
	return some(dir+" "+name, list)
}

func (s *source) valued(name string) []string {
	for _, c := range s.constants {
		if c.name == name {
			return []string{c.value}
		}
	}
	return nil
}

// offered are the values of a choice that a page lists beside the family: Labelled(p, "role.", []string{link.UserAdmin, …}, …).
func offered(dir, family string) []string {
	var list []string
	form := regexp.MustCompile(regexp.QuoteMeta(strconv.Quote(family)) + `, \[\]string\{([^}]*)\}`)
	for _, m := range form.FindAllStringSubmatch(in(dir).text, -1) {
		for value := range strings.SplitSeq(m[1], ",") {
			value = strings.TrimSpace(value)
			if text, err := strconv.Unquote(value); err == nil {
				list = append(list, text)
			} else if of, name, ok := strings.Cut(value, "."); ok {
				list = append(list, in("views/"+of).valued(name)...)
			} else {
				list = append(list, in(dir).valued(value)...)
			}
		}
	}
	return some(dir+" "+family, list)
}

// written are the texts of a package that match, by what stands in the first brackets.
func written(dir, pattern string) []string {
	var list []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(in(dir).text, -1) {
		list = append(list, m[1])
	}
	return some(dir+" "+pattern, list)
}

// and gives each value alone and with endings.
func and(values []string, endings ...string) []string {
	all := slices.Clone(values)
	for _, v := range values {
		for _, e := range endings {
			all = append(all, v+e)
		}
	}
	return all
}

// each gives each value with each ending.
func each(values []string, endings ...string) []string { return and(values, endings...)[len(values):] }

// without leaves out the values of which nobody is told under this family.
func without(values []string, left ...string) []string {
	return slices.DeleteFunc(values, func(v string) bool { return slices.Contains(left, v) })
}
