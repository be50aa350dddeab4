package db

import "fmt"

// Text is a nullable text column in which NULL reads as the empty string.
type Text string

// Scan implements [database/sql.Scanner].
func (t *Text) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*t = ""
	case string:
		*t = Text(v)
	case []byte:
		*t = Text(v)
	default:
		return fmt.Errorf("scan %T as text", v)
	}
	return nil
}
