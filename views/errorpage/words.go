package errorpage

import "strconv"

// Statuses lists the HTTP statuses that have words of their own; any other 4xx reads as 400, any other as 500.
func Statuses() []int { return []int{400, 401, 403, 404, 405, 409, 413, 429, 500, 503} }

func (p Page) key() string {
	for _, s := range Statuses() {
		if s == p.Status {
			return "error." + strconv.Itoa(s)
		}
	}
	if p.Status >= 400 && p.Status < 500 {
		return "error.400"
	}
	return "error.500"
}

func (p Page) title() string {
	if p.Title != "" {
		return p.Title
	}
	return p.T(p.key() + ".title")
}

func (p Page) text() string {
	if p.Text != "" {
		return p.Text
	}
	return p.T(p.key() + ".text")
}

// Line is the error in one line, for programs that ask for JSON.
func Line(p Page) string { return p.toast() }

// toast is one line: the particular text if there is one, the general title otherwise.
func (p Page) toast() string {
	if p.Text != "" {
		return p.Text
	}
	return p.title()
}
