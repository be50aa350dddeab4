package db

import (
	"fmt"
	"time"
)

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

// Flag is a truth as a column has it.
func Flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Instant is the time of a column of milliseconds, in which 0 stands for none.
func Instant(ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// Millis is a time for a column of milliseconds, in which 0 stands for none.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
