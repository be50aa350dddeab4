package expr

import (
	"cmp"
	"slices"
	"strings"
	"time"

	lang "github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"

	"github.com/punctual-job/punctual/scheduler/invalid"
)

// Bounds of an expression, so that no text of people and no result of an executor keeps an admin busy. They count steps and bytes, not
// time, so that every admin comes to the same end.
const (
	MaxText   = 2000 // bytes of an expression
	MaxResult = 1 << 20
	maxNodes  = 200
	maxEffort = 1 << 20 // steps, and bytes of texts looked at divided by 16
	maxList   = 100_000 // elements of all lists that it makes

	maxTogether = 32 * maxEffort // of expressions with one [Budget]
)

// Budget bounds what expressions do together that are evaluated for one decision. Its zero value is whole.
type Budget struct{ used int }

// Kind is what is wrong with an expression.
type Kind string

// The kinds of faults.
const (
	KindSyntax Kind = "syntax" // Reason
	KindLong   Kind = "long"
	KindSecret Kind = "secret" // secrets are put in when a run leaves, and nothing reads them before
	KindName   Kind = "name"   // Text: what there is not
	KindStep   Kind = "step"   // Text: a step that there is not
	KindItem   Kind = "item"   // item where there is none
	KindValue  Kind = "value"  // it has no value; Reason
	KindEffort Kind = "effort" // it does or makes too much
	KindBraces Kind = "braces" // a value would be read as an expression
)

// Error is what is wrong with an expression, found when it is read or when it is evaluated.
type Error struct {
	Kind       Kind
	Expression string
	Text       string
	Reason     invalid.Field // its Key is empty for none
}

func (e *Error) Error() string {
	return strings.Join(slices.DeleteFunc([]string{e.Expression, string(e.Kind), e.Text, Said(e.Reason)}, func(s string) bool { return s == "" }), ": ")
}

// Scope is what an expression may read.
type Scope struct {
	Steps []string // the ids of steps
	Item  bool     // the item of a foreach
}

// Values are what it reads when it is evaluated.
type Values struct {
	Param   string
	Planned time.Time
	Zone    *time.Location
	Steps   map[string]Step
	Item    any
	Status  Status
	Budget  *Budget // nil: each expression has only its own bounds
}

// Step is what an expression sees of a step.
type Step struct {
	State   string
	Code    int64
	Message string
	Output  any   // decoded JSON, or a map of texts
	Items   []any // of each item what [Step.Value] makes of it
}

// Status is what the functions success(), failure(), any() and cancelled() say; always() is true.
type Status struct{ Success, Failure, Any, Cancelled bool }

// Program is an expression that was read.
type Program struct {
	text    string
	program *vm.Program
	reads   []string
	status  bool
	ends    bool
	free    bool
}

// Compile reads an expression. The error is an [*Error].
func Compile(text string, scope Scope) (*Program, error) {
	p := &Program{text: strings.Trim(text, blank), free: true}
	if len(p.text) > MaxText {
		return nil, &Error{Kind: KindLong, Expression: p.text[:60] + "…"}
	}
	guard := &guard{scope: scope, program: p}
	known := make(types.Map, len(scope.Steps))
	for _, id := range scope.Steps {
		known[id] = stepType
	}
	env := types.Map{
		"flow": types.Map{"param": types.String, "planned": types.String}, "steps": known, "item": types.Any,
		envEffort: types.Any, envSuccess: types.Bool, envFailure: types.Bool, envAny: types.Bool, envCancelled: types.Bool,
	}
	options := append([]lang.Option{lang.Env(env), lang.MaxNodes(maxNodes), lang.Optimize(false), lang.DisableAllBuiltins(), lang.DisableIfOperator()}, functions...)
	if err := checkPatterns(p.text, options); err != nil {
		return nil, &Error{Kind: KindSyntax, Expression: p.text, Reason: ReasonOf(err)}
	}
	program, err := lang.Compile(p.text, append(options, lang.Patch(guard))...)
	switch {
	case guard.wrong != nil:
		guard.wrong.Expression = p.text
		return nil, guard.wrong
	case err != nil:
		return nil, &Error{Kind: KindSyntax, Expression: p.text, Reason: ReasonOf(err)}
	}
	p.program = program
	return p, nil
}

// checkPatterns looks at the regular expressions that stand in an expression, before the library does, which has no bounds for them.
func checkPatterns(text string, options []lang.Option) error {
	config := conf.CreateNew()
	for _, option := range options {
		option(config)
	}
	for name := range config.Disabled {
		delete(config.Builtins, name)
	}
	tree, err := parser.ParseWithConfig(text, config)
	if err != nil {
		return err
	}
	var look patternCheck
	ast.Walk(&tree.Node, &look)
	return look.wrong
}

type patternCheck struct{ wrong error }

// Visit implements [ast.Visitor].
func (c *patternCheck) Visit(node *ast.Node) {
	if n, ok := (*node).(*ast.BinaryNode); ok && n.Operator == "matches" && c.wrong == nil {
		if text, ok := n.Right.(*ast.StringNode); ok {
			_, c.wrong = newPattern(text.Value)
		}
	}
}

// Reads are the steps whose results it reads.
func (p *Program) Reads() []string { return p.reads }

// AsksStatus says whether it calls success(), failure(), always(), any() or cancelled().
func (p *Program) AsksStatus() bool { return p.status }

// AsksCancelled says whether it calls cancelled().
func (p *Program) AsksCancelled() bool { return p.ends }

// Constant says whether its value is always the same.
func (p *Program) Constant() bool { return p.free && !p.status }

// Text is the expression.
func (p *Program) Text() string { return p.text }

// Eval is its value: nil, a truth value, a number (int, int64 or float64), a text, a list or a map. The error is an [*Error].
func (p *Program) Eval(v *Values) (any, error) {
	effort := &effort{values: v}
	if v.Budget != nil {
		if v.Budget.used > maxTogether {
			return nil, &Error{Kind: KindEffort, Expression: p.text}
		}
		defer func() { v.Budget.used += effort.used }()
	}
	machine := vm.VM{MemoryBudget: maxList}
	value, err := machine.Run(p.program, environment(p, v, effort))
	if err != nil {
		if effort.over() || strings.Contains(err.Error(), "memory budget exceeded") {
			return nil, &Error{Kind: KindEffort, Expression: p.text}
		}
		return nil, &Error{Kind: KindValue, Expression: p.text, Reason: ReasonOf(err)}
	}
	return value, nil
}

// Holds is the value of a condition.
func (p *Program) Holds(v *Values) (bool, error) {
	value, err := p.Eval(v)
	if err != nil {
		return false, err
	}
	holds, ok := value.(bool)
	if !ok {
		return false, &Error{Kind: KindValue, Expression: p.text, Reason: because("notruth", "Kind", kindOf(value)).Field}
	}
	return holds, nil
}

// List is the value of an expression that is to be a list, and the list as JSON.
func (p *Program) List(v *Values) (list []any, text string, err error) {
	value, err := p.Eval(v)
	if err != nil {
		return nil, "", err
	}
	list, ok := listOf(value)
	if !ok {
		return nil, "", &Error{Kind: KindValue, Expression: p.text, Reason: because("nolist", "Kind", kindOf(value)).Field}
	}
	if text, err = textOf(list); err != nil {
		return nil, "", valueError(p.text, err)
	}
	return list, text, nil
}

// JSON is its value as JSON, on one line.
func (p *Program) JSON(v *Values) (string, error) {
	value, err := p.Eval(v)
	if err != nil {
		return "", err
	}
	text, err := new(effort).json(value)
	if err != nil {
		return "", valueError(p.text, err)
	}
	return text, nil
}

// names of the environment that nobody can write.
const (
	envEffort    = "#effort"
	envSuccess   = "#success"
	envFailure   = "#failure"
	envAny       = "#any"
	envCancelled = "#cancelled"
)

var stepType = types.Map{"state": types.String, "code": types.Int, "message": types.String, "output": types.Any, "items": types.Array(types.Any)}

func environment(p *Program, v *Values, e *effort) map[string]any {
	steps := make(map[string]any, len(p.reads))
	for _, id := range p.reads {
		steps[id] = v.Steps[id].Value()
	}
	planned := ""
	if !v.Planned.IsZero() {
		planned = Planned{}.Text(v.Planned, zoneOr(v.Zone))
	}
	return map[string]any{
		"flow": map[string]any{"param": v.Param, "planned": planned}, "steps": steps, "item": v.Item,
		envEffort: e, envSuccess: v.Status.Success, envFailure: v.Status.Failure, envAny: v.Status.Any, envCancelled: v.Status.Cancelled,
	}
}

func (s Step) Value() map[string]any {
	items := s.Items
	if items == nil {
		items = []any{}
	}
	return map[string]any{"state": s.State, "code": int(s.Code), "message": s.Message, "output": s.Output, "items": items}
}

func zoneOr(zone *time.Location) *time.Location { return cmp.Or(zone, time.UTC) }

// guard looks at each part of an expression, refuses what is not offered, and puts our own bounded functions in the place of what could
// do or make without end.
type guard struct {
	scope   Scope
	program *Program
	wrong   *Error
}

// predicates are the functions of the library that take a condition for each element; each element is counted.
var predicates = []string{"all", "none", "one", "filter", "map", "find", "findIndex", "count"}

// operators are ours instead of the library's.
var operators = map[string]string{
	"+": "#add", "-": "#subtract", "*": "#multiply", "..": "#range", "==": "#equal", "!=": "#unequal", "in": "#in", "contains": "#contains", "startsWith": "#starts", "endsWith": "#ends", "matches": "#matches",
	"<": "#less", "<=": "#atmost", ">": "#more", ">=": "#atleast",
}

func (g *guard) fail(kind Kind, text string) {
	if g.wrong == nil {
		g.wrong = &Error{Kind: kind, Text: text}
	}
}

// Visit implements [ast.Visitor]. The parts of a part come before it.
func (g *guard) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		g.identifier(n)
	case *ast.MemberNode:
		g.member(n)
	case *ast.CallNode:
		g.call(node, n)
	case *ast.BuiltinNode:
		if !slices.Contains(predicates, n.Name) {
			g.fail(KindName, n.Name+"()")
		}
	case *ast.BinaryNode:
		if name, ours := operators[n.Operator]; ours {
			ast.Patch(node, operator(name, n.Left, n.Right))
		}
	case *ast.UnaryNode:
		switch n.Node.(type) {
		case *ast.IntegerNode, *ast.FloatNode, *ast.StringNode, *ast.BoolNode, *ast.NilNode, *ast.ArrayNode, *ast.MapNode: // is known as it stands
		default:
			if n.Operator == "-" { // the library's goes round at the least number
				ast.Patch(node, operator("#subtract", &ast.IntegerNode{Value: 0}, n.Node))
			}
		}
	case *ast.PredicateNode:
		count := &counter{}
		ast.Walk(&n.Node, count)
		n.Node = &ast.ConditionalNode{Cond: callOf("#tick", &ast.IdentifierNode{Value: envEffort}, &ast.IntegerNode{Value: count.n}), Exp1: n.Node, Exp2: &ast.NilNode{}}
	case *ast.SliceNode:
		ast.Patch(node, callOf("#slice", &ast.IdentifierNode{Value: envEffort}, &ast.ChainNode{Node: n.Node}, orNil(n.From), orNil(n.To)))
	case *ast.PointerNode:
		if n.Name != "" && n.Name != "index" {
			g.fail(KindName, "#"+n.Name)
		}
	case *ast.VariableDeclaratorNode, *ast.SequenceNode, *ast.BytesNode, *ast.ConstantNode:
		g.fail(KindSyntax, "")
		g.wrong.Reason = because("variables").Field
	case *ast.NilNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode, *ast.ChainNode,
		*ast.ConditionalNode, *ast.ArrayNode, *ast.MapNode, *ast.PairNode:
	default:
		g.fail(KindSyntax, "")
		g.wrong.Reason = because("offered").Field
	}
}

func (g *guard) identifier(n *ast.IdentifierNode) {
	switch {
	case n.Value == "secrets":
		g.fail(KindSecret, "")
	case n.Value == "item":
		g.program.free = false
		if !g.scope.Item {
			g.fail(KindItem, "")
		}
	case n.Value == "flow", n.Value == "steps":
		g.program.free = false
	case offered[n.Value], strings.HasPrefix(n.Value, "#"):
	default:
		g.fail(KindName, n.Value)
	}
}

func orNil(n ast.Node) ast.Node {
	if n == nil {
		return &ast.NilNode{}
	}
	return n
}

// member notes the step that is read. Which one it is has to stand there, so that it is known before anything runs. Elsewhere a key that is
// the value of an expression may be long, and is counted.
func (g *guard) member(n *ast.MemberNode) {
	if root, ok := n.Node.(*ast.IdentifierNode); !ok || root.Value != "steps" {
		switch n.Property.(type) {
		case *ast.StringNode, *ast.IntegerNode:
		default:
			n.Property = callOf("#key", &ast.IdentifierNode{Value: envEffort}, n.Property)
		}
		return
	}
	id, ok := n.Property.(*ast.StringNode)
	switch {
	case !ok:
		g.fail(KindSyntax, "")
		g.wrong.Reason = because("stepname").Field
	case !slices.Contains(g.scope.Steps, id.Value):
		g.fail(KindStep, id.Value)
	case !slices.Contains(g.program.reads, id.Value):
		g.program.reads = append(g.program.reads, id.Value)
	}
}

func (g *guard) call(node *ast.Node, n *ast.CallNode) {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		g.fail(KindName, n.Callee.String()+"()")
		return
	}
	if env, is := statuses[callee.Value]; is {
		g.program.status = true
		g.program.ends = g.program.ends || env == envCancelled
		if len(n.Arguments) > 0 {
			g.fail(KindSyntax, "")
			g.wrong.Reason = because("arguments", "Name", callee.Value).Field
		}
		if env == "" {
			ast.Patch(node, &ast.BoolNode{Value: true})
		} else {
			ast.Patch(node, &ast.IdentifierNode{Value: env})
		}
		return
	}
	if !offered[callee.Value] {
		g.fail(KindName, callee.Value)
		return
	}
	if callee.Value == Word {
		g.program.free = false
	}
	n.Arguments = append([]ast.Node{&ast.IdentifierNode{Value: envEffort}}, n.Arguments...)
}

// statuses are the functions that ask how the needs of a step ended, and where the answer is.
var statuses = map[string]string{"success": envSuccess, "failure": envFailure, "any": envAny, "cancelled": envCancelled, "always": ""}

func callOf(name string, arguments ...ast.Node) *ast.CallNode {
	return &ast.CallNode{Callee: &ast.IdentifierNode{Value: name}, Arguments: arguments}
}

func operator(name string, left, right ast.Node) *ast.CallNode {
	return callOf(name, &ast.IdentifierNode{Value: envEffort}, left, right)
}

// counter counts the parts of an expression.
type counter struct{ n int }

// Visit implements [ast.Visitor].
func (c *counter) Visit(*ast.Node) { c.n++ }
