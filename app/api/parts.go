package api

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/problem"
)

// Page is a part of a list: embed it in the input of an operation that lists.
type Page struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"How many at most."`
	Cursor string `query:"cursor" pattern:"^([1-9][0-9]{0,17})?$" doc:"What the page before said as next; without it the list begins."`
}

// after is the id that a cursor stands for, 0 for none.
func (p Page) after() (int64, error) {
	if p.Cursor == "" {
		return 0, nil
	}
	id, err := strconv.ParseInt(p.Cursor, 10, 64)
	if err != nil || id <= 0 {
		return 0, newParameterError("cursor", "api.error.cursor")
	}
	return id, nil
}

// list is a page of items. Next is empty on the last.
type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty" doc:"The cursor of the page that follows. There is none after the last."`
}

type listOf[T any] struct{ Body list[T] }

// Looking says for how long a list looks that may find nothing among millions.
type Looking struct {
	Look string `query:"look" pattern:"^(([1-9]|10)s)?$" example:"2s" doc:"Look for so many seconds at most, up to 10s, if the filter is one that no index helps with, such as a text. Without it the answer comes within some 20 ms. It may have no items, and says in searched_to how far back it came; ask again with next."`
}

// maxLook bounds how long one request looks; the database works all that time.
const maxLook = 10 * time.Second

func (l Looking) time() (time.Duration, error) {
	if l.Look == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(l.Look)
	if err != nil || d <= 0 || d > maxLook {
		return 0, newParameterError("look", "api.error.look")
	}
	return d, nil
}

// nextBelow is the cursor of the page below an id, none for 0.
func nextBelow(id int64) string {
	if id <= 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}

// SearchedTo says of a page that it is not full because the time was over.
type SearchedTo struct {
	At *time.Time `json:"searched_to,omitempty" doc:"Only where the time to look was over before the page was full or the list at its end: how far back all was looked at. There is more to look at, from next on, and may be nothing to find."`
}

// searchedTo is where a search ended that has not come to the end; of a time that nobody wrote down it ended nowhere.
func searchedTo(ended bool, at time.Time) SearchedTo {
	if !ended || at.IsZero() {
		return SearchedTo{}
	}
	at = at.UTC()
	return SearchedTo{&at}
}

// madeOf is what is made of each of some rows; never nil.
func madeOf[R, T any](rows []R, read func(R) T) []T {
	items := make([]T, len(rows))
	for i, row := range rows {
		items[i] = read(row)
	}
	return items
}

// listed makes a list of what was read, or did not come.
func listed[R, T any](rows []R, err error, read func(R) T) (*listOf[T], error) {
	return &listOf[T]{Body: list[T]{Items: madeOf(rows, read)}}, err
}

// cut makes a page of up to limit+1 items.
func cut[T any](items []T, limit int, id func(T) int64) *listOf[T] {
	out := new(listOf[T])
	if len(items) > limit {
		items = items[:limit]
		out.Body.Next = strconv.FormatInt(id(items[limit-1]), 10)
	}
	out.Body.Items = items
	if items == nil {
		out.Body.Items = []T{}
	}
	return out
}

// following are the items of a short list whose ids come after one, at most limit+1. The list is in the order of its ids.
func following[T any](items []T, after int64, limit int, id func(T) int64) []T {
	for i, item := range items {
		if id(item) > after {
			return items[i:min(len(items), i+limit+1)]
		}
	}
	return nil
}

// byNumber is a page of a list that was read whole, or did not come.
func byNumber[R, T any](in Page, rows []R, err error, id func(R) int64, read func(R) T) (*listOf[T], error) {
	after, odd := in.after()
	if err = cmp.Or(odd, err); err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(x, y R) int { return cmp.Compare(id(x), id(y)) })
	page := cut(following(rows, after, in.Limit, id), in.Limit, id).Body
	return &listOf[T]{list[T]{madeOf(page.Items, read), page.Next}}, nil
}

// parameterError is a parameter of the query, or a header, that cannot be used.
type parameterError struct{ name, key string }

func newParameterError(name, key string) error { return &parameterError{name, key} }

func (e *parameterError) Error() string { return e.name + ": " + e.key }

// Unwrap makes it the problem that it is.
func (e *parameterError) Unwrap() error { return problem.InvalidFields() }

// ifMatch is the header of [IfMatch].
const ifMatch = "If-Match"

// IfMatch makes a request count only for what it was made for. Every PUT, PATCH and DELETE of what can be changed embeds it. A PUT says
// everything anew, so it would undo unseen what somebody else has changed: [add] lets none through without the header (RFC 6585).
type IfMatch struct {
	Match string `header:"If-Match" maxLength:"500" doc:"The ETag of what is meant, or * for whatever there is. If it was changed since, nothing is done, and the answer is 412."`
}

// matching are inputs with an [IfMatch].
type matching interface {
	current(version string) (string, error)
}

// current refuses a request that was made for another version than the one there is. What it returns is for the use case to compare once
// more, in its transaction; it is empty if the request asks for no check. A tag is that of a version and not of bytes, so one that was made weak
// on its way, as nginx does where it compresses an answer, still is that version's.
func (m IfMatch) current(version string) (string, error) {
	if m.Match == "" {
		return "", nil
	}
	for tag := range strings.SplitSeq(m.Match, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == etag(version) {
			return version, nil
		}
	}
	return "", newStale()
}

// changed is the error of a use case that was called with a [IfMatch.current] version: that version went while it worked.
func (m IfMatch) changed(err error) error {
	if p := problem.From(err); p != nil && m.Match != "" && slices.Contains([]string{"problem.changed", "problem.pause.over", "settings.changed"}, p.Key) {
		return newStale()
	}
	return err
}

func etag(version string) string { return `"` + version + `"` }

// DryRun lets a request say what it would do, and do nothing.
type DryRun struct {
	Dry bool `query:"dry_run" doc:"Only say what would be done."`
}

// lastMoment is the last one that RFC 3339 can write. A column into which somebody has put microseconds has a later one.
var lastMoment = time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)

// moment is a time as the API writes it: in UTC, nil for none.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	if t.After(lastMoment) {
		t = lastMoment
	}
	t = t.UTC().Truncate(time.Millisecond)
	return &t
}

func momentOf(ms int64) *time.Time {
	if ms <= 0 {
		return nil
	}
	return moment(time.UnixMilli(ms))
}
