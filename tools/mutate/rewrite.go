package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mutated is a package with its mutants.
type mutated struct {
	dir, name string
	files     map[string]string // where each lies, to its name
	mutants   []*mutant
	dropped   map[int]bool // those that do not compile
}

func load(pkg, files string) (*mutated, error) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}\n{{.Name}}{{range .GoFiles}}\n{{.}}{{end}}", pkg).Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", pkg, err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	p := &mutated{dir: lines[0], name: lines[1], files: make(map[string]string), dropped: make(map[int]bool)}
	wanted, err := regexp.Compile(files)
	if err != nil {
		return nil, err
	}
	for _, name := range lines[2:] {
		source, err := os.ReadFile(filepath.Join(p.dir, name))
		if err != nil {
			return nil, err
		}
		// What a comment tells the compiler is lost.
		if wanted.MatchString(name) && !bytes.Contains(source, []byte("\n//go:")) && !bytes.HasPrefix(source, []byte("//go:")) && !bytes.Contains(source, []byte("DO NOT EDIT")) {
			p.files[filepath.Join(p.dir, name)] = name
		}
	}
	_, err = p.rewrite()
	return p, err
}

// rewrite gives the sources with all mutants that compile.
func (p *mutated) rewrite() (map[string][]byte, error) {
	sources := make(map[string][]byte)
	p.mutants = nil
	w := &writer{p: p}
	for _, path := range slices.Sorted(maps.Keys(p.files)) {
		w.set, w.file = token.NewFileSet(), p.files[path]
		f, err := parser.ParseFile(w.set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				w.block(fn.Body.List)
			}
		}
		var out bytes.Buffer
		if err := format.Node(&out, w.set, f); err != nil {
			return nil, fmt.Errorf("%s: %w", w.file, err)
		}
		sources[path] = out.Bytes()
	}
	return sources, nil
}

// build compiles the tests with all mutants; what does not compile is left out.
func (p *mutated) build(dir, binary, tests string) error {
	for range 20 {
		sources, err := p.rewrite()
		if err != nil {
			return err
		}
		overlay := struct{ Replace map[string]string }{make(map[string]string)}
		helper := filepath.Join(dir, "helper.go")
		if err := os.WriteFile(helper, fmt.Appendf(nil, helperSource, p.name), 0o600); err != nil {
			return err
		}
		overlay.Replace[filepath.Join(p.dir, "zz_mutate.go")] = helper
		for path, source := range sources {
			at := filepath.Join(dir, p.files[path])
			if err := os.WriteFile(at, source, 0o600); err != nil {
				return err
			}
			overlay.Replace[path] = at
		}
		raw, err := json.Marshal(overlay)
		if err != nil {
			return err
		}
		list := filepath.Join(dir, "overlay.json")
		if err := os.WriteFile(list, raw, 0o600); err != nil {
			return err
		}
		out, err := exec.Command("go", "test", "-c", "-vet=off", "-gcflags="+p.importPath()+"=-e", "-overlay", list, "-o", binary, tests).CombinedOutput()
		if err == nil {
			if len(p.dropped) > 0 {
				fmt.Printf("%d mutants do not compile and are left out\n", len(p.dropped))
			}
			return nil
		}
		if !p.drop(string(out), sources) {
			return fmt.Errorf("build: %w\n%s", err, out)
		}
	}
	return errors.New("build: it does not come to an end")
}

func (p *mutated) importPath() string {
	out, _ := exec.Command("go", "list", p.dir).Output()
	return strings.TrimSpace(string(out))
}

// drop leaves out the mutants of the lines that the compiler named.
func (p *mutated) drop(said string, sources map[string][]byte) bool {
	before := len(p.dropped)
	for _, m := range regexp.MustCompile(`(?m)([\w.-]+\.go):(\d+):\d+: `).FindAllStringSubmatch(said, -1) {
		for path, source := range sources {
			if p.files[path] != m[1] {
				continue
			}
			n, _ := strconv.Atoi(m[2])
			lines := strings.Split(string(source), "\n")
			for _, id := range number.FindAllStringSubmatch(lines[min(n, len(lines))-1], -1) {
				i, _ := strconv.Atoi(id[1])
				p.dropped[i] = true
			}
		}
	}
	return len(p.dropped) > before
}

// writer puts mutants into a file.
type writer struct {
	p    *mutated
	set  *token.FileSet
	file string
	next int
}

// add is the number of a new mutant, 0 if it does not compile.
func (w *writer) add(at token.Pos, what string, args ...any) int {
	w.next++
	if w.p.dropped[w.next] {
		return 0
	}
	w.p.mutants = append(w.p.mutants, &mutant{id: w.next, file: w.file, line: w.set.Position(at).Line, what: fmt.Sprintf(what, args...)})
	return w.next
}

func (w *writer) text(n ast.Node) string {
	var out bytes.Buffer
	_ = format.Node(&out, w.set, n)
	text := strings.Join(strings.Fields(out.String()), " ")
	if len(text) > 70 {
		text = text[:70] + "…"
	}
	return text
}

func call(name string, id int, args ...ast.Expr) ast.Expr {
	return &ast.CallExpr{Fun: ast.NewIdent(name), Args: append([]ast.Expr{&ast.BasicLit{Kind: token.INT, Value: strconv.Itoa(id)}}, args...)}
}

func later(e ast.Expr) ast.Expr {
	return &ast.FuncLit{
		Type: &ast.FuncType{Params: &ast.FieldList{}, Results: &ast.FieldList{List: []*ast.Field{{Type: ast.NewIdent("bool")}}}},
		Body: &ast.BlockStmt{List: []ast.Stmt{&ast.ReturnStmt{Results: []ast.Expr{e}}}},
	}
}

// unless is a statement that is left out while a mutant is on.
func unless(id int, s ast.Stmt) ast.Stmt {
	return &ast.IfStmt{Cond: &ast.UnaryExpr{Op: token.NOT, X: call("mutateOn", id)}, Body: &ast.BlockStmt{List: []ast.Stmt{s}}}
}

func (w *writer) block(list []ast.Stmt) {
	for i, s := range list {
		list[i] = w.stmt(s, i == len(list)-1)
	}
}

// stmt puts mutants into a statement.
func (w *writer) stmt(s ast.Stmt, last bool) ast.Stmt {
	switch s := s.(type) {
	case *ast.ExprStmt:
		if talks(s) {
			return s
		}
		what := w.text(s)
		s.X = w.expr(s.X)
		if c, ok := s.X.(*ast.CallExpr); ok {
			if f, ok := c.Fun.(*ast.Ident); ok && f.Name == "panic" {
				return s
			}
			if id := w.add(s.Pos(), "without %s", what); id != 0 {
				return unless(id, s)
			}
		}
	case *ast.AssignStmt:
		what, blank := w.text(s), true
		for _, l := range s.Lhs {
			if x, ok := l.(*ast.Ident); !ok || x.Name != "_" {
				blank = false
			}
		}
		w.exprs(s.Rhs)
		w.exprs(s.Lhs)
		if s.Tok != token.DEFINE && !blank {
			if id := w.add(s.Pos(), "without %s", what); id != 0 {
				return unless(id, s)
			}
		}
	case *ast.IncDecStmt:
		if id := w.add(s.Pos(), "without %s", w.text(s)); id != 0 {
			return unless(id, s)
		}
	case *ast.BranchStmt:
		if s.Tok == token.CONTINUE || s.Tok == token.BREAK {
			if id := w.add(s.Pos(), "without %s", w.text(s)); id != 0 {
				return unless(id, s)
			}
		}
	case *ast.ReturnStmt:
		what := w.text(s)
		w.exprs(s.Results)
		if len(s.Results) == 0 {
			if id := w.add(s.Pos(), "without %s", what); id != 0 {
				return unless(id, s)
			}
		}
	case *ast.IfStmt:
		if s.Else == nil && !slices.ContainsFunc(s.Body.List, func(s ast.Stmt) bool { return !talks(s) }) {
			return s
		}
		if s.Init != nil {
			w.simple(s.Init)
		}
		s.Cond = w.condition(s.Cond)
		w.block(s.Body.List)
		if s.Else != nil {
			s.Else = w.stmt(s.Else, true)
		}
	case *ast.BlockStmt:
		w.block(s.List)
	case *ast.ForStmt:
		if s.Init != nil {
			w.simple(s.Init)
		}
		if s.Cond != nil {
			s.Cond = w.condition(s.Cond)
		}
		w.block(s.Body.List)
	case *ast.RangeStmt:
		s.X = w.expr(s.X)
		w.block(s.Body.List)
	case *ast.SwitchStmt:
		if s.Init != nil {
			w.simple(s.Init)
		}
		for _, c := range s.Body.List {
			c := c.(*ast.CaseClause)
			for i, e := range c.List {
				if s.Tag == nil {
					c.List[i] = w.condition(e)
				}
			}
			w.block(c.Body)
		}
	case *ast.TypeSwitchStmt:
		for _, c := range s.Body.List {
			w.block(c.(*ast.CaseClause).Body)
		}
	case *ast.SelectStmt:
		for _, c := range s.Body.List {
			w.block(c.(*ast.CommClause).Body)
		}
	case *ast.LabeledStmt:
		if inner := w.stmt(s.Stmt, last); inner == s.Stmt {
			s.Stmt = inner
		}
	case *ast.GoStmt:
		w.exprs(s.Call.Args)
		w.function(s.Call.Fun)
	case *ast.DeferStmt:
		w.exprs(s.Call.Args)
		w.function(s.Call.Fun)
	case *ast.SendStmt:
		s.Value = w.expr(s.Value)
	}
	return s
}

// talks says whether a statement only logs or counts for a metric: what the program does is the same without it. The names are this
// repository's: log, logger and slog, and metrics.
func talks(s ast.Stmt) bool {
	x, ok := s.(*ast.ExprStmt)
	if !ok {
		return false
	}
	var on []string // what the methods are called on, the last first
	for e := x.X; ; {
		switch n := e.(type) {
		case *ast.CallExpr:
			e = n.Fun
			continue
		case *ast.SelectorExpr:
			on = append(on, n.Sel.Name)
			e = n.X
			continue
		case *ast.Ident:
			on = append(on, n.Name)
		}
		break
	}
	if slices.Contains(on, "metrics") {
		return true
	}
	return len(on) > 1 && slices.Contains([]string{"Debug", "Info", "Warn", "Error"}, on[0]) && slices.Contains([]string{"log", "logger", "Logger", "slog"}, on[1])
}

// simple puts mutants into what stands before a condition.
func (w *writer) simple(s ast.Stmt) {
	if a, ok := s.(*ast.AssignStmt); ok {
		w.exprs(a.Rhs)
	}
}

func (w *writer) function(e ast.Expr) {
	if f, ok := e.(*ast.FuncLit); ok {
		w.block(f.Body.List)
	}
}

// condition is an expression that may simply be wrong.
func (w *writer) condition(e ast.Expr) ast.Expr {
	what := w.text(e)
	if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && logical(b.Op) {
		return w.expr(e)
	}
	if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.NOT {
		return w.expr(e)
	}
	at := e.Pos()
	e = w.expr(e)
	if id := w.add(at, "not %s", what); id != 0 {
		return call("mutateNot", id, e)
	}
	return e
}

func logical(op token.Token) bool {
	return op == token.LAND || op == token.LOR || comparison(op)
}

func comparison(op token.Token) bool {
	return slices.Contains([]token.Token{token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ}, op)
}

func (w *writer) exprs(list []ast.Expr) {
	for i, e := range list {
		list[i] = w.expr(e)
	}
}

var arithmetic = map[token.Token]token.Token{token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.ADD, token.QUO: token.MUL, token.REM: token.MUL}

// arithmeticCalls are the functions of helperSource that take the operators' places: what an operand calls is called once.
var arithmeticCalls = map[token.Token]string{token.ADD: "mutateAdd", token.SUB: "mutateSub", token.MUL: "mutateMul", token.QUO: "mutateQuo", token.REM: "mutateRem"}

// expr puts mutants into an expression.
func (w *writer) expr(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return w.binary(e)
	case *ast.ParenExpr:
		e.X = w.expr(e.X)
	case *ast.UnaryExpr:
		what, at := w.text(e), e.Pos()
		if e.X = w.expr(e.X); e.Op == token.NOT {
			if id := w.add(at, "not %s", what); id != 0 {
				return call("mutateNot", id, e)
			}
		}
	case *ast.CallExpr:
		return w.called(e)
	case *ast.FuncLit:
		w.block(e.Body.List)
	case *ast.CompositeLit:
		for i, v := range e.Elts {
			if kv, ok := v.(*ast.KeyValueExpr); ok {
				kv.Value = w.expr(kv.Value)
			} else {
				e.Elts[i] = w.expr(v)
			}
		}
	case *ast.IndexExpr:
		e.Index = w.expr(e.Index)
	case *ast.SliceExpr:
		for _, at := range []*ast.Expr{&e.Low, &e.High, &e.Max} {
			if *at != nil {
				*at = w.expr(*at)
			}
		}
	case *ast.StarExpr:
		e.X = w.expr(e.X)
	}
	return e
}

// called puts mutants into a call: edges of moments, and the other of min and max.
func (w *writer) called(e *ast.CallExpr) ast.Expr {
	what := w.text(e)
	w.exprs(e.Args)
	switch f := e.Fun.(type) {
	case *ast.FuncLit:
		w.block(f.Body.List)
	case *ast.SelectorExpr:
		f.X = w.expr(f.X)
		if (f.Sel.Name == "Before" || f.Sel.Name == "After") && len(e.Args) == 1 {
			if id := w.add(e.Pos(), "the edge of %s", what); id != 0 {
				return call("mutateEdge", id, e, later(&ast.CallExpr{Fun: &ast.SelectorExpr{X: f.X, Sel: ast.NewIdent("Equal")}, Args: e.Args}))
			}
		}
	case *ast.Ident:
		if other := map[string]string{"min": "max", "max": "min"}[f.Name]; other != "" {
			if id := w.add(e.Pos(), "%s for %s in %s", other, f.Name, what); id != 0 {
				return call(map[string]string{"min": "mutateMin", "max": "mutateMax"}[f.Name], id, e.Args...)
			}
		}
	}
	return e
}

func (w *writer) binary(e *ast.BinaryExpr) ast.Expr {
	what, at := w.text(e), e.Pos()
	e.X, e.Y = w.expr(e.X), w.expr(e.Y)
	switch {
	case e.Op == token.LAND:
		if id := w.add(at, "|| for && in %s", what); id != 0 {
			return call("mutateAnd", id, e.X, later(e.Y))
		}
	case e.Op == token.LOR:
		if id := w.add(at, "&& for || in %s", what); id != 0 {
			return call("mutateOr", id, e.X, later(e.Y))
		}
	case comparison(e.Op):
		var out ast.Expr = e
		if e.Op != token.EQL && e.Op != token.NEQ {
			if id := w.add(at, "the edge of %s", what); id != 0 {
				out = call("mutateEdge", id, out, later(&ast.BinaryExpr{X: e.X, Op: token.EQL, Y: e.Y}))
			}
		}
		if id := w.add(at, "not %s", what); id != 0 {
			out = call("mutateNot", id, out)
		}
		return out
	case arithmetic[e.Op] != 0 && !hasText(e):
		if id := w.add(at, "%s for %s in %s", arithmetic[e.Op], e.Op, what); id != 0 {
			return call(arithmeticCalls[e.Op], id, e.X, e.Y)
		}
	}
	return e
}

// hasText finds texts, which can only be put together; and what stands alone as a constant stays one.
func hasText(e ast.Expr) bool {
	found, varies := false, false
	ast.Inspect(e, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			found = true
		}
		if x, ok := n.(*ast.Ident); ok && (x.Name[0] >= 'a' && x.Name[0] <= 'z') && x.Name != "time" {
			varies = true
		}
		return true
	})
	return found || !varies
}

// helperSource is what the mutants ask. The values are of the environment: MUTANT is the one that is on, MUTATE_REACHED a file that
// takes the number of each that is reached.
const helperSource = `package %s

import (
	mutatecmp "cmp"
	mutateos "os"
	mutateslices "slices"
	mutatestrconv "strconv"
	mutatesync "sync"
)

var (
	mutant, _  = mutatestrconv.Atoi(mutateos.Getenv("MUTANT"))
	mutateFile = mutateos.Getenv("MUTATE_REACHED")
	mutateSeen mutatesync.Map
	mutateMu   mutatesync.Mutex
)

func mutateOn(id int) bool {
	if mutateFile != "" {
		if _, seen := mutateSeen.LoadOrStore(id, true); !seen {
			mutateMu.Lock()
			defer mutateMu.Unlock()
			if f, err := mutateos.OpenFile(mutateFile, mutateos.O_APPEND|mutateos.O_CREATE|mutateos.O_WRONLY, 0o600); err == nil {
				f.WriteString(mutatestrconv.Itoa(id) + "\n")
				f.Close()
			}
		}
	}
	return id == mutant
}

func mutateNot(id int, is bool) bool { return is != mutateOn(id) }

func mutateAnd(id int, a bool, b func() bool) bool {
	if mutateOn(id) {
		return a || b()
	}
	return a && b()
}

func mutateOr(id int, a bool, b func() bool) bool {
	if mutateOn(id) {
		return a && b()
	}
	return a || b()
}

func mutateEdge(id int, is bool, same func() bool) bool {
	if mutateOn(id) && same() {
		return !is
	}
	return is
}

type mutateInteger interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

type mutateNumber interface {
	mutateInteger | ~float32 | ~float64
}

func mutateAdd[T mutateNumber](id int, x, y T) T {
	if mutateOn(id) {
		return x - y
	}
	return x + y
}

func mutateSub[T mutateNumber](id int, x, y T) T {
	if mutateOn(id) {
		return x + y
	}
	return x - y
}

func mutateMul[T mutateNumber](id int, x, y T) T {
	if mutateOn(id) {
		return x + y
	}
	return x * y
}

func mutateQuo[T mutateNumber](id int, x, y T) T {
	if mutateOn(id) {
		return x * y
	}
	return x / y
}

func mutateRem[T mutateInteger](id int, x, y T) T {
	if mutateOn(id) {
		return x * y
	}
	return x %% y
}

func mutateMin[T mutatecmp.Ordered](id int, list ...T) T {
	if mutateOn(id) {
		return mutateslices.Max(list)
	}
	return mutateslices.Min(list)
}

func mutateMax[T mutatecmp.Ordered](id int, list ...T) T {
	if mutateOn(id) {
		return mutateslices.Min(list)
	}
	return mutateslices.Max(list)
}
`
