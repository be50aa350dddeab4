package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestTheReferenceIsThatOfTheCode compares the manual's reference, which the program serves and searches like any other page, with what the
// code says; UPDATE=1 writes it anew. What the code says in English has its Chinese in testdata/reference.zh-CN.json, but for the fields of a
// job, whose words are those of the form.
func TestTheReferenceIsThatOfTheCode(t *testing.T) {
	t.Parallel()
	for lang, name := range map[string]string{locales.English: "api-reference.md", locales.Chinese: "zh-CN/api-reference.md"} {
		r := newReference(t, lang)
		path := filepath.Join("..", "..", "docs", filepath.FromSlash(name))
		want := r.page()
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if raw, err := os.ReadFile(path); err != nil || string(raw) != want {
			t.Errorf("%s is stale: UPDATE=1 go test ./app/api (%v)", path, err)
		}
		for text := range r.unused {
			t.Errorf("nothing says %q any more: take it out of testdata/reference.zh-CN.json", text)
		}
	}
}

// reference writes the page in one language.
type reference struct {
	t      *testing.T
	api    *huma.OpenAPI
	lang   string
	words  map[string]string // of the document's texts
	unused map[string]bool   // of words
	second map[string]string // what the anchor of a heading ends with that there is twice: a resource and an object
	out    strings.Builder
}

func newReference(t *testing.T, lang string) *reference {
	r := &reference{t: t, api: registered(echo.New()).huma.OpenAPI(), lang: lang, words: make(map[string]string), unused: make(map[string]bool)}
	if lang == locales.English {
		return r
	}
	raw, err := os.ReadFile("testdata/reference.zh-CN.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &r.words); err != nil {
		t.Fatal(err)
	}
	for text := range r.words {
		r.unused[text] = true
	}
	catalogue := locales.New()
	english, chinese := catalogue.Printer(locales.English), catalogue.Printer(lang)
	for _, f := range jobspec.Fields {
		from, to := english.T(f.Label)+".", chinese.T(f.Label)+"。"
		if f.Help != "" {
			from, to = from+" "+english.T(f.Help), to+chinese.T(f.Help)
		}
		r.words[from] = to
	}
	return r
}

// say is a text of the document in the page's language.
func (r *reference) say(text string) string {
	if text == "" || r.lang == locales.English {
		return text
	}
	said, ok := r.words[text]
	if !ok {
		r.t.Errorf("testdata/reference.zh-CN.json lacks %q", text)
	}
	delete(r.unused, text)
	return said
}

// either is what the page says beside the document's texts.
func (r *reference) either(english, chinese string) string {
	if r.lang == locales.English {
		return english
	}
	return chinese
}

func (r *reference) line(format string, args ...any) { fmt.Fprintf(&r.out, format+"\n", args...) }

// page is the whole: the operations by their resource, and then the objects that they take and give.
func (r *reference) page() string {
	r.line("# %s\n", r.either("API reference", "API 参考"))
	r.line("%s\n", r.either(
		"Every operation of API v1 and every field, made from the same description that `GET /api/v1/openapi.json` serves. How to begin is in [API](api.md).",
		"API v1 的全部操作和字段，由 `GET /api/v1/openapi.json` 所提供的同一份描述生成。如何开始见 [API](api.md)。"))
	r.line("%s\n", r.either(
		"Paths begin with `/api/v1`. A refusal is a [Problem](#problem). Any operation may answer `400`, `401`, `403`, `422`, `429`, `500` or `503`; one with a body also `408`, `413` or `415`.",
		"路径都以 `/api/v1` 开头。拒绝时应答 [Problem](#problem)。任何操作都可能应答 `400`、`401`、`403`、`422`、`429`、`500` 或 `503`；带请求体的还可能应答 `408`、`413` 或 `415`。"))
	type operation struct {
		*huma.Operation
		method, path string
	}
	byTag := make(map[string][]operation)
	for path, item := range r.api.Paths {
		for method, o := range map[string]*huma.Operation{
			http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
		} {
			if o != nil {
				byTag[o.Tags[0]] = append(byTag[o.Tags[0]], operation{o, method, path})
			}
		}
	}
	r.second = make(map[string]string)
	for tag := range byTag {
		r.second[strings.ToLower(r.either(tag, r.say(tag)))] = "-1"
	}
	order := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	for _, tag := range slices.Sorted(maps.Keys(byTag)) {
		r.line("## %s\n", r.either(strings.ToUpper(tag[:1])+tag[1:], r.say(tag)))
		list := byTag[tag]
		slices.SortFunc(list, func(a, b operation) int {
			return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(slices.Index(order, a.method), slices.Index(order, b.method)))
		})
		for _, o := range list {
			r.operation(o.Operation, o.method, o.path)
		}
	}
	r.line("## %s\n", r.either("Objects", "对象"))
	schemas := r.api.Components.Schemas.Map()
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		r.line("### %s\n", name)
		s := schemas[name]
		if len(s.Properties) == 0 {
			r.t.Errorf("%s has no fields", name)
		}
		r.line("| %s | %s | %s |\n| --- | --- | --- |", r.either("Field", "字段"), r.either("Type", "类型"), r.either("Meaning", "含义"))
		for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
			r.row("`"+field+"`", s.Properties[field], s.Properties[field].Description, slices.Contains(s.Required, field))
		}
		r.line("")
	}
	return strings.TrimRight(r.out.String(), "\n") + "\n"
}

// usual are the refusals that the page's beginning speaks of.
var usual = slices.Concat(everyErrors, bodyErrors)

func (r *reference) operation(o *huma.Operation, method, path string) {
	r.line("### %s\n", r.say(o.Summary))
	r.line("`%s %s`%s `%s`\n", method, path, r.either(", operation", "，操作名"), o.OperationID)
	if o.Description != "" {
		r.line("%s\n", r.say(o.Description))
	}
	if len(o.Parameters) > 0 {
		r.line("| %s | %s | %s |\n| --- | --- | --- |", r.either("Parameter", "参数"), r.either("Type", "类型"), r.either("Meaning", "含义"))
		for _, p := range o.Parameters {
			name := "`" + p.Name + "`"
			switch p.In {
			case "path":
				name = "`{" + p.Name + "}`"
			case "header":
				name += r.either(" (header)", "（请求头）")
			}
			r.row(name, p.Schema, p.Description, false)
		}
		r.line("")
	}
	if o.RequestBody != nil {
		for _, kind := range slices.Sorted(maps.Keys(o.RequestBody.Content)) {
			r.line("%s %s%s`%s`\n", r.either("Takes", "请求体"), r.kind(o.RequestBody.Content[kind].Schema), r.either(", ", "，"), kind)
		}
	}
	var refusals []string
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		code, err := strconv.Atoi(status)
		switch {
		case err != nil:
			r.t.Errorf("%s %s answers %q", method, path, status)
		case code >= 400 && !slices.Contains(usual, code):
			refusals = append(refusals, "`"+status+"`")
		case code < 400:
			given := ""
			for kind, media := range o.Responses[status].Content {
				given = " " + r.kind(media.Schema)
				if kind != "application/json" {
					given = " `" + kind + "`"
				}
			}
			also := ""
			for _, name := range slices.Sorted(maps.Keys(o.Responses[status].Headers)) {
				also += ", `" + name + "`"
			}
			r.line("%s `%s`%s%s\n", r.either("Answers", "应答"), status, given, also)
		}
	}
	if len(refusals) > 0 {
		r.line("%s%s\n", r.either("Refuses also with ", "还可能以下列状态拒绝："), strings.Join(refusals, r.either(", ", "、")))
	}
}

// row is a parameter or a field with what it may be.
func (r *reference) row(name string, s *huma.Schema, text string, required bool) {
	said := []string{}
	if text != "" {
		said = append(said, r.say(text))
	}
	inner := s
	if s.Type == huma.TypeArray {
		inner = s.Items
	}
	if values := codes(slices.DeleteFunc(slices.Clone(inner.Enum), func(v any) bool { return v == nil })); values != "" {
		said = append(said, r.either("One of ", "取值：")+values+r.either(".", "。"))
	}
	if values := codes(s.Examples); values != "" {
		said = append(said, r.either("Such as ", "例如 ")+values+r.either(".", "。"))
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil && *s.Maximum < 1<<53-1:
		said = append(said, fmt.Sprintf(r.either("From `%.0f` to `%.0f`.", "从 `%.0f` 到 `%.0f`。"), *s.Minimum, *s.Maximum))
	case s.Maximum != nil && *s.Maximum < 1<<53-1:
		said = append(said, fmt.Sprintf(r.either("At most `%.0f`.", "最大 `%.0f`。"), *s.Maximum))
	}
	if s.MaxLength != nil {
		said = append(said, fmt.Sprintf(r.either("At most `%d` characters.", "最多 `%d` 个字符。"), *s.MaxLength))
	}
	if s.Default != nil {
		said = append(said, fmt.Sprintf(r.either("Default `%v`.", "默认 `%v`。"), reflect.Indirect(reflect.ValueOf(s.Default))))
	}
	if required {
		name = "**" + name + "**"
	}
	r.line("| %s | %s | %s |", name, r.kind(s), strings.ReplaceAll(strings.Join(said, r.either(" ", "")), "|", `\|`))
}

// codes lists values; none is nothing.
func codes(values []any) string {
	list := make([]string, 0, len(values))
	for _, v := range values {
		list = append(list, fmt.Sprintf("`%v`", v))
	}
	return strings.Join(list, " ")
}

// kind is the type of a field, an object by a link to it.
func (r *reference) kind(s *huma.Schema) string {
	switch {
	case s.Ref != "":
		name := s.Ref[strings.LastIndex(s.Ref, "/")+1:]
		return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name)+r.second[strings.ToLower(name)])
	case s.Type == huma.TypeArray:
		return r.either("list of ", "列表：") + r.kind(s.Items)
	case s.Format == "date-time":
		return r.either("moment", "时刻")
	case s.Type == huma.TypeInteger:
		return r.either("integer", "整数")
	case s.Type == huma.TypeNumber:
		return r.either("number", "数值")
	case s.Type == huma.TypeBoolean:
		return r.either("true or false", "布尔值")
	case s.Type == huma.TypeString:
		return r.either("text", "文本")
	case s.Type == huma.TypeObject && s.Ref == "" && len(s.Properties) == 0:
		return r.either("object", "对象")
	default:
		r.t.Errorf("a field of type %q", s.Type)
		return ""
	}
}
