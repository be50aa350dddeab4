package ui

// Look is how somebody wants a list ([LookMenu]).
type Look struct {
	List    string
	Columns []Option // those that can be hidden; selected: they are shown
	Dense   bool     // a line a row
	Rows    int      // a page
}

// Column is one that can be hidden. Its heading and its cells have the class "col-<Name>".
type Column struct{ Name, Label string }

// UsualRows is how many rows a page of a list has.
const UsualRows = 50

// RowChoices are how many it may have.
func RowChoices() []int { return []int{20, UsualRows, 100, 200} }

// The names of the fields of a look.
const (
	FieldList   = "list"
	FieldColumn = "column" // one that is shown
	FieldDense  = "dense"  // "1"
	FieldRows   = "rows"
)

// Table is the class of a table that looks so.
func (l Look) Table() string {
	class := ""
	if l.Dense {
		class = "dense"
	}
	for _, c := range l.Columns {
		if !c.Selected {
			class += " hide-" + c.Value
		}
	}
	return class
}

// Sorting is the order of a list, and how to get another.
type Sorting struct {
	Now     string                   // as the address says it: a name, with a minus before it for the other way round
	Choices []Option                 // all orders, for where the headings are not seen
	Address func(sort string) string // of the list in an order
}

// Direction is what a heading is sorted in, as aria-sort says it.
func (s Sorting) Direction(by string) string {
	switch s.Now {
	case by:
		return "ascending"
	case "-" + by:
		return "descending"
	}
	return "none"
}

// next is the address that a heading leads to. What is looked for by its largest, as a duration, is sorted that way first.
func (s Sorting) next(by string, largest bool) string {
	first, second := by, "-"+by
	if largest {
		first, second = second, first
	}
	switch s.Now {
	case first:
		return s.Address(second)
	case second:
		return s.Address("")
	}
	return s.Address(first)
}
