package client

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"os"
	"strconv"
	"time"
)

const (
	// suggestFor bounds what somebody who pressed Tab waits for an admin.
	suggestFor = 2 * time.Second
	// maxSuggested is how many names are read of an admin.
	maxSuggested = 50
)

// Suggest names what an argument of a kind can be: contexts, jobs, groups or calendars. What cannot be asked has no names: somebody
// who types gets no error.
func Suggest(ctx context.Context, kind string, of Admin, word string) (names []string) {
	if kind == "contexts" {
		all, err := readContexts()
		if err != nil {
			return nil
		}
		for _, c := range all.Contexts {
			names = append(names, c.Name)
		}
		return names
	}
	for value, name := range map[*string]string{&of.Context: "PUNCTUAL_CONTEXT", &of.URL: "PUNCTUAL_URL", &of.Token: "PUNCTUAL_TOKEN"} {
		*value = cmp.Or(*value, os.Getenv(name))
	}
	from, known := suggested[kind]
	if !known {
		return nil
	}
	a, err := of.api()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, suggestFor)
	defer cancel()
	query := make(url.Values)
	if from.search != "" && word != "" {
		query.Set(from.search, word)
	}
	items, err := a.list(ctx, from.path, query, from.limit)
	if err != nil {
		return nil
	}
	for _, raw := range items {
		var item map[string]any
		if json.Unmarshal(raw, &item) != nil {
			continue
		}
		switch value := item[from.field].(type) {
		case string:
			if value == plain(value) { // else it would do something to the terminal, or be another name
				names = append(names, value)
			}
		case float64:
			names = append(names, strconv.FormatInt(int64(value), 10))
		}
	}
	return names
}

// suggested is where the names of a kind are read. A search narrows them where there may be many; groups are some hundred at most, and all read.
var suggested = map[string]struct {
	path, search, field string
	limit               int
}{
	"jobs":      {"/jobs", "text", "description", maxSuggested},
	"groups":    {"/groups", "", "app_name", 0},
	"calendars": {"/calendars", "", "name", unpaged},
}
