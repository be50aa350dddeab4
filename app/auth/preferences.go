package auth

import (
	"encoding/json"
	"maps"
	"slices"
)

// Preferences are how somebody wants the console. The zero value is how it comes.
type Preferences struct {
	NoKeys  bool                `json:"no_keys,omitempty"`  // single keys do nothing
	Start   string              `json:"start,omitempty"`    // the page that a visit begins with; "": the dashboard
	NoSteps bool                `json:"no_steps,omitempty"` // the first steps are not shown
	Dense   bool                `json:"dense,omitempty"`    // lists have a line a row
	Lists   map[string]ListLook `json:"lists,omitempty"`    // by the name of the list
}

// ListLook is how somebody wants one list.
type ListLook struct {
	Hidden []string `json:"hidden,omitempty"` // columns
	Rows   int      `json:"rows,omitempty"`   // a page; 0: as many as usual
}

// With are the preferences with another look of a list. Those they come from stay as they are.
func (p Preferences) With(list string, look ListLook) Preferences {
	lists := maps.Clone(p.Lists)
	if lists == nil {
		lists = make(map[string]ListLook)
	}
	if slices.Sort(look.Hidden); len(look.Hidden) == 0 && look.Rows == 0 {
		delete(lists, list)
	} else {
		lists[list] = look
	}
	p.Lists = lists
	return p
}

// Text is how preferences are kept.
func (p Preferences) Text() string {
	text, err := json.Marshal(p)
	if err != nil || string(text) == "{}" {
		return ""
	}
	return string(text)
}

// readPreferences reads what was kept. What cannot be read is as if nobody had chosen anything.
func readPreferences(text string) (p Preferences) {
	if text == "" || json.Unmarshal([]byte(text), &p) != nil {
		return Preferences{}
	}
	return p
}
