package expr

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// hostile are values that executors may send to keep an admin busy: as long as a result can be.
func hostile() *Values {
	decoded := func(text string) any {
		value, _ := DecodeJSON(text)
		return value
	}
	v := testValues()
	v.Param = "[" + strings.Repeat(`{"":0},`, 8000) + "1]"
	v.Item = decoded(`{"` + strings.Repeat("<", 64000) + `":1}`)
	v.Steps = map[string]Step{
		"a":    {Message: strings.Repeat("a", 64000), Output: decoded("[" + strings.Repeat("1,", 30000) + "1]")},
		"b_1":  {Output: decoded("[" + strings.Repeat("null,", 13000) + "1]")},
		"list": {Items: make([]any, 10_000), Output: decoded(strings.Repeat("[", 9000) + strings.Repeat("]", 9000))},
	}
	return v
}

// TestNoExpressionKeepsAnAdminBusy has in each line what once took seconds to hours, and counted for nothing.
func TestNoExpressionKeepsAnAdminBusy(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"count(1..90000, sum(steps.a.output) > 0)",
		"count(1..90000, join(steps.b_1.output, '') == '')",
		"count(1..90000, nil == toJSON(item))",
		"count(1..90000, item == item)",
		"map(1..60, fromJSON(flow.param))",
		"count(1..90000, item[steps.a.message] != 1)",
		"count(1..90000, steps.a.message in item)",
		"count(1..90000, steps.a.message[1:2] == 'b')",
		"map(1..90000, split('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', ''))",
		"count(1..90000, steps.a.message matches '" + strings.Repeat(".{0,9}", 24) + "x')",
		"steps.a.message matches (" + strings.Repeat("'.{0,99}' + ", 4) + "'x')",
		"-5..9223372036854775807", "0..9223372036854775807", "(-9223372036854775807 - 1)..9223372036854775807",
		"toJSON(steps.list.output)",
	} {
		p, err := Compile(text, testScope)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		v, err := p.Eval(hostile())
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindEffort {
			t.Errorf("%s: %T, %v", text, v, err)
		}
	}
}

// TestAPatternIsBoundedWhereItIsWritten because the library compiles what stands there, however large that becomes.
func TestAPatternIsBoundedWhereItIsWritten(t *testing.T) {
	t.Parallel()
	for pattern, good := range map[string]bool{
		`^[a-z]{1,20}-\\d{4}$`: true, `(?i)done|ok`: true,
		strings.Repeat("a{1000}", 280): false, strings.Repeat(".{0,999}", 24): false, "((a{10}){10}){10}b{9}": false, "(": false, "a{1001}": false,
	} {
		for _, text := range []string{"flow.param matches '" + pattern + "'", "any() && [flow.param][0] matches '" + pattern + "'"} {
			_, err := Compile(text, testScope)
			if e, ok := errors.AsType[*Error](err); (err == nil) != good || !good && (!ok || e.Kind != KindSyntax || e.Reason.Key == "") {
				t.Errorf("%.60s: %v", text, err)
			}
		}
		p, err := Compile("flow.param matches item", testScope)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = p.Eval(&Values{Param: "x", Item: strings.ReplaceAll(pattern, `\\`, `\`)}); (err == nil) != good {
			t.Errorf("%.60s as a value: %v", pattern, err)
		}
	}
}

func TestLargeNumbersStayWhatTheyAre(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		"9007199254740993 == 9007199254740992": false, "9007199254740993 != 9007199254740992": true, "9007199254740993 in [9007199254740992]": false,
		"fromJSON('9007199254740993') == 9007199254740993": true, "2 ** 53 == 9007199254740992": true,
		"9223372036854775806 + 1": math.MaxInt64, "-9223372036854775807 - 1": math.MinInt64, "3037000499 * 3037000499": 9223372030926249001, "-2 * 4611686018427387904": math.MinInt64,
		"1.5 * 2": 3.0, "5 - 0.5": 4.5, "1 - -1": 2, "0 * -5": 0,
		"-(3 - 5)": 2, "3 - -(1 + 1)": 5, "-steps.a.output.big": -9007199254740993, "-(0.5 + 1)": -1.5, "-steps.a.output.half": -0.5, "-(9223372036854775807)": -math.MaxInt64,
	} {
		p, err := Compile(text, testScope)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := p.Eval(testValues()); err != nil || got != want {
			t.Errorf("%s: %v %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"9223372036854775807 + 1", "-9223372036854775807 - 2", "9223372036854775807 * 2", "4611686018427387904 * 2", "sum([9223372036854775807, 1])", "'a' - 1", "nil * 2",
		"1..item", "item..2", "int(1 / 0)",
		"-(-9223372036854775807 - 1)", "-int('-9223372036854775808')", "-steps.a.output.none", "-steps.a.output.name",
	} {
		p, err := Compile(text, testScope)
		if err == nil {
			_, err = p.Eval(testValues())
		}
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindValue && e.Kind != KindSyntax || e.Reason.Key == "" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestWhatCannotBeWrittenIsNoValue of a text: it says so and not that the expression does too much.
func TestWhatCannotBeWrittenIsNoValue(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"${{ 1 / 0 }}", "${{ 0 / 0 }}", "${{ [-1 / 0] }}", "${{ 2 ** 10000 }}"} {
		template, err := ParseTemplate(text, testScope, keepSecrets)
		if err != nil {
			t.Fatal(err)
		}
		_, err = template.Fill(testValues())
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindValue || e.Reason.Key == "" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestPartsOfTextsAreCharacters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"'天地玄黄'[1:3]": "地玄", "'天地'[:1]": "天", "'天地'[-1:]": "地", "'天地'[1:99]": "地", "'天地'[2:1]": "", "'abc'[1:]": "bc", "[1,2,3][1:]": "[2,3]", "(1..9)[:2]": "[1,2]",
		"item?.none[0:1] ?? 'x'": "x", "item?.name[0:1]": "天", "steps.a.output.name[0:1]": "x",
	} {
		p, err := Compile(text, testScope)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		v := testValues()
		v.Item = map[string]any{"name": "天地"}
		value, err := p.Eval(v)
		if got, _ := textOf(value); err != nil || got != want {
			t.Errorf("%s: %q %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"item[0:1]", "'abc'[item:]", "fromJSON('1')[1:]"} {
		p, err := Compile(text, testScope)
		if err == nil {
			_, err = p.Eval(testValues())
		}
		if !errors.As(err, new(*Error)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestJSONEndsWhereItsValueDoes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"[1]]", `{"a":1}}`, "1 2", "[1] x", "", "["} {
		if v, ok := DecodeJSON(text); ok {
			t.Errorf("%q is JSON: %v", text, v)
		}
	}
}

// TestAWholeNumberOfAResultIsNeverAnother, such as an id of 64 bits without a sign: a number of 64 bits with half of them for its fraction
// would be another one. It is handed on as it is written, and nothing can be computed of it.
func TestAWholeNumberOfAResultIsNeverAnother(t *testing.T) {
	t.Parallel()
	v := testValues()
	output, _ := DecodeJSON(`{"id": 12345678901234567890, "least": -9223372036854775808, "below": -9223372036854775809, "rough": 12345678901234567890.5}`)
	v.Steps["a"] = Step{Output: output}
	for text, want := range map[string]string{
		"steps.a.output.id": "12345678901234567890", "steps.a.output.below": "-9223372036854775809", "steps.a.output.least": "-9223372036854775808",
		"steps.a.output.rough": "12345678901234567000", "[steps.a.output.id]": "[12345678901234567890]", "string(steps.a.output.id) + '!'": "12345678901234567890!", "fromJSON('[18446744073709551615]')[0]": "18446744073709551615",
		"steps.a.output.id == fromJSON('12345678901234567890')": "true", "steps.a.output.id == fromJSON('12345678901234567891')": "false", "steps.a.output.id == 1": "false", "fromJSON('1e999')": "1e999",
	} {
		if got, err := evalText(t, text, v); got != want || err != nil {
			t.Errorf("%s: %q %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"steps.a.output.id + 1", "1 - steps.a.output.id", "-steps.a.output.id", "int(steps.a.output.id)", "float(steps.a.output.id)", "steps.a.output.id > 1", "sum([steps.a.output.id])", "max(steps.a.output.id, 1)",
		"1..steps.a.output.id", "len(steps.a.output.id)", "[1][steps.a.output.id]", "steps.a.output.id ? 1 : 2"} {
		if got, err := evalText(t, text, v); err == nil {
			t.Errorf("%s is %q", text, got)
		}
	}
}

func evalText(t *testing.T, text string, v *Values) (string, error) {
	t.Helper()
	p, err := Compile(text, testScope)
	if err != nil {
		t.Fatal(err)
	}
	value, err := p.Eval(v)
	if err != nil {
		return "", err
	}
	return textOf(value)
}

// TestWhatExpressionsReadIsMadeOnce and not for each of the ten thousand items whose parameter looks at the others.
func TestWhatExpressionsReadIsMadeOnce(t *testing.T) {
	v := testValues()
	items := make([]any, 10_000)
	for i := range items {
		items[i] = Step{State: "success"}.Value()
	}
	v.Steps["list"] = Step{Items: items}
	p, err := Compile("len(steps.list.items)", testScope)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(10, func() {
		if got, err := p.Eval(v); err != nil || got != len(items) {
			t.Errorf("%v %v", got, err)
		}
	}); n > 100 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzAttack evaluates what is written against values that are as large as results can be. Whatever it does, it ends, what it gives can be
// stored, and nothing panics.
func FuzzAttack(f *testing.F) {
	for _, text := range []string{
		"count(1..90000, sum(steps.a.output) > 0)", "toJSON(item)", "steps.a.message[1:-1] + '天'[0:1]", "map(steps.list.items, #index)[0:3]", "flow.param matches '(a|b)*c'", "(1 / 0) .. 5",
		"filter(fromJSON(flow.param), # != 1)", "keys(item)[0][5:9]", "join(map(1..9, [#, [#]]), '\xff')", "item?.a[0:1]?.b", "-9223372036854775807 * -1 - 3", "[nil, {'a': 0/0}]", "steps.list.output[0][0]",
	} {
		f.Add(text)
	}
	values := hostile()
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Compile(text, testScope)
		if err != nil {
			return
		}
		begin := time.Now()
		value, err := p.Eval(values)
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("%q takes %v", text, took)
		}
		if err != nil {
			return
		}
		if written, err := textOf(value); err == nil && utf8.ValidString(text) && !utf8.ValidString(written) {
			t.Errorf("%q gives bytes that are no text", text)
		}
	})
}
