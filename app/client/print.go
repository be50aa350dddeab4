package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mattn/go-runewidth"
	"go.yaml.in/yaml/v3"
	"golang.org/x/term"
)

// column is one of a table: what stands above it, and what an item has there.
type column struct {
	title string
	value func(item item) string
	wide  bool // with -o wide only
}

// item is a thing of the API, read.
type item map[string]any

// moments are fields that hold one, beside those whose name says so. What people write may look like one too.
var moments = []string{"at", "by", "from", "until", "since"}

func isMoment(field string) bool {
	return slices.Contains(moments, field) || strings.HasSuffix(field, "_at") || strings.HasSuffix(field, "_since") || strings.HasSuffix(field, "_planned")
}

// text is a field as a table shows it. A moment is in the reader's zone; what there is none of is a dash.
func (i item) text(field string) string {
	switch v := i[field].(type) {
	case nil:
		return "-"
	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil && isMoment(field) {
			return at.Local().Format(time.DateTime)
		}
		if v == "" {
			return "-"
		}
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case []any:
		texts := make([]string, len(v))
		for n, x := range v {
			texts[n] = fmt.Sprint(x)
		}
		if len(texts) == 0 {
			return "-"
		}
		return strings.Join(texts, ",")
	default:
		return fmt.Sprint(v)
	}
}

func field(title, name string) column {
	return column{title: title, value: func(i item) string { return i.text(name) }}
}

func wideField(title, name string) column {
	c := field(title, name)
	c.wide = true
	return c
}

// printer writes what commands have found out.
type printer struct {
	out    io.Writer
	format string
}

// items prints a list.
func (p printer) items(raw []json.RawMessage, columns []column) error {
	switch p.format {
	case "json", "yaml":
		all, err := json.Marshal(raw)
		if err != nil {
			return err
		}
		if raw == nil {
			all = []byte("[]")
		}
		return p.whole(all)
	}
	items := make([]item, len(raw))
	for n, r := range raw {
		decoder := json.NewDecoder(bytes.NewReader(r))
		decoder.UseNumber()
		if err := decoder.Decode(&items[n]); err != nil {
			return fmt.Errorf("read what the admin said: %w", err)
		}
	}
	if p.format == "name" {
		for _, i := range items {
			name := columns[0].value(i) // of what has no number
			if i["id"] != nil {
				name = i.text("id")
			}
			if _, err := fmt.Fprintln(p.out, name); err != nil {
				return err
			}
		}
		return nil
	}
	return p.table(items, columns)
}

// one prints a single thing: as a table of its fields in the order of the columns, unless another format is asked for.
func (p printer) one(raw json.RawMessage, columns []column) error {
	switch p.format {
	case "json", "yaml":
		return p.whole(raw)
	case "name":
		return p.items([]json.RawMessage{raw}, columns)
	}
	var i item
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&i); err != nil {
		return fmt.Errorf("read what the admin said: %w", err)
	}
	width := 0
	for _, c := range columns {
		width = max(width, cells.StringWidth(c.title))
	}
	for _, c := range columns {
		if _, err := fmt.Fprintf(p.out, "%s  %s\n", cells.FillRight(c.title, width), plain(c.value(i))); err != nil {
			return err
		}
	}
	return nil
}

// whole prints JSON as it came, but for the white space, or as YAML with the fields in the same order.
func (p printer) whole(raw json.RawMessage) error {
	if p.format == "json" {
		var b bytes.Buffer
		if err := json.Indent(&b, raw, "", "  "); err != nil {
			return fmt.Errorf("read what the admin said: %w", err)
		}
		b.WriteByte('\n')
		_, err := b.WriteTo(p.out)
		return err
	}
	there, back := standIns(string(raw))
	var node yaml.Node // JSON is YAML
	if err := yaml.Unmarshal([]byte(there.Replace(string(raw))), &node); err != nil {
		return fmt.Errorf("read what the admin said: %w", err)
	}
	block(&node)
	var b strings.Builder
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(&node), encoder.Close()); err != nil {
		return err
	}
	_, err := back.WriteString(p.out, b.String())
	return err
}

// standIns put private characters, which are nowhere else in a text, in the place of those beyond the basic plane, such as emoji, and turn them
// back: the library would escape those, and write a text of several lines with one into a single line.
func standIns(text string) (there, back *strings.Replacer) {
	private, last := '\ue000', '\uf8ff'
	used := make(map[rune]bool)
	for _, r := range text {
		if r >= private {
			used[r] = true
		}
	}
	var instead, again []string
	for r := range used {
		for used[private] {
			private++
		}
		if r > '\uffff' && unicode.IsPrint(r) && private <= last {
			instead, again = append(instead, string(r), string(private)), append(again, string(private), string(r))
			private++
		}
	}
	return strings.NewReplacer(instead...), strings.NewReplacer(again...)
}

// block takes JSON's braces and quotes off.
func block(n *yaml.Node) {
	n.Style &^= yaml.FlowStyle
	if n.Kind == yaml.ScalarNode {
		n.Style = 0
	}
	for _, c := range n.Content {
		block(c)
	}
}

// table prints items in columns that are as wide as what stands in them, in cells of a terminal: a Chinese character takes two.
func (p printer) table(items []item, columns []column) error {
	var shown []column
	for _, c := range columns {
		if !c.wide || p.format == "wide" {
			shown = append(shown, c)
		}
	}
	rows := make([][]string, 0, len(items)+1)
	head := make([]string, len(shown))
	for n, c := range shown {
		head[n] = c.title
	}
	rows = append(rows, head)
	for _, i := range items {
		row := make([]string, len(shown))
		for n, c := range shown {
			row[n] = plain(c.value(i))
		}
		rows = append(rows, row)
	}
	widths := make([]int, len(shown))
	for _, row := range rows {
		for n, cell := range row {
			widths[n] = max(widths[n], cells.StringWidth(cell))
		}
	}
	if p.format != "wide" {
		fit(widths, least(rows, widths), terminalWidth(p.out))
	}
	for _, row := range rows {
		var line strings.Builder
		for n, cell := range row {
			if n > 0 {
				line.WriteString(gap)
			}
			line.WriteString(cells.FillRight(cells.Truncate(cell, widths[n], "…"), widths[n]))
		}
		if _, err := fmt.Fprintln(p.out, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// cells are what terminals take for a text. What Chinese fonts once drew twice as wide, such as … and ·, takes one in whatever language.
var cells = &runewidth.Condition{StrictEmojiNeutral: true}

// gap stands between two columns.
const gap = "  "

// shortest is what a column of words is cut to at most.
const shortest = 8

// least is how narrow columns may become: moments and numbers say nothing when a part of them is missing.
func least(rows [][]string, widths []int) []int {
	narrow := make([]int, len(widths))
	for n, width := range widths {
		for _, row := range rows[1:] {
			if narrow[n] = width; strings.Trim(row[n], "0123456789-: ") != "" {
				narrow[n] = min(width, max(shortest, cells.StringWidth(rows[0][n])))
				break
			}
		}
	}
	return narrow
}

// fit makes the widest columns narrower until a line is no wider than the room; 0 is no bound. No column becomes narrower than the least that it
// may be, so that a line may still be too wide: of many columns, or on a very narrow terminal.
func fit(widths, least []int, room int) {
	if room <= 0 {
		return
	}
	over := len(gap)*(len(widths)-1) - room
	for _, w := range widths {
		over += w
	}
	for ; over > 0; over-- {
		widest := -1
		for n := range widths {
			if widths[n] > least[n] && (widest < 0 || widths[n] > widths[widest]) {
				widest = n
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// terminalWidth is how many cells a line of a terminal has; 0 when out is none.
func terminalWidth(out io.Writer) int {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// plain keeps a text that people wrote from moving a terminal's cursor or breaking a table.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0 || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069':
			return -1
		}
		return r
	}, text)
}

// reference is what a command takes for one thing, which the admin is asked to find.
type reference interface {
	find(ctx context.Context, a *api) (int64, error)
}

// find is how the admin is called, and the number of what is meant.
func (t Target) find(ctx context.Context, meant reference) (a *api, id int64, err error) {
	if a, err = t.api(); err == nil {
		id, err = meant.find(ctx, a)
	}
	return a, id, err
}

// show prints one thing of the API.
func (t Target) show(ctx context.Context, s Streams, path string, columns []column) error {
	a, err := t.api()
	if err != nil {
		return err
	}
	raw, err := a.do(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return err
	}
	return (printer{s.Out, t.Output}).one(raw, columns)
}

// get prints a list of the API.
func (t Target) get(ctx context.Context, s Streams, path string, query url.Values, limit int, columns []column) error {
	a, err := t.api()
	if err != nil {
		return err
	}
	items, err := a.list(ctx, path, query, limit)
	if err != nil {
		return err
	}
	if err := (printer{s.Out, t.Output}).items(items, columns); err != nil {
		return err
	}
	if limit > 0 && len(items) == limit {
		fmt.Fprintf(s.Err, "There may be more: --limit %d was reached.\n", limit)
	}
	return nil
}

// each asks for something of things one after the other, each at the path with its number, and says of each what became of it.
func (t Target) each(ctx context.Context, s Streams, ids []int64, what, method, path string, body any, done string) error {
	a, err := t.api()
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		if _, err := a.do(ctx, method, fmt.Sprintf(path, id), nil, body); err != nil {
			errs = append(errs, fmt.Errorf("%s %d: %w", what, id, err))
			continue
		}
		fmt.Fprintf(s.Err, "%s %d: %s\n", what, id, done)
	}
	return errors.Join(errs...)
}
