// Package errorpage draws what a person sees when a request cannot be answered: a whole page, or a toast for htmx.
package errorpage

import "github.com/punctual-job/punctual/views/layout"

// Page says what went wrong. Title and Text are ready to print.
type Page struct {
	layout.Page
	Status    int
	Title     string // empty: the message "error.<status>.title", or the general one
	Text      string // empty: the message "error.<status>.text", or the general one
	RequestID string // shown so that an operator can find the log line; may be empty
	BackURL   string // where to go on from here; empty: the start page
	BackText  string // what is there; empty: the start page
}
