package db_test

import (
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/punctual-job/punctual/db"
)

// TestAServerWithoutRoomIsAway: what it cannot write now for want of disk or memory is not wrong, as a value is that is too long.
func TestAServerWithoutRoomIsAway(t *testing.T) {
	t.Parallel()
	for number, away := range map[uint16]bool{
		3: true, 1021: true, 1026: true, 1037: true, 1041: true, 1114: true, 1180: true, 1534: true, 1598: true, 1878: true,
		1062: false, 1264: false, 1406: false, 1205: false, 1213: false,
	} {
		err := fmt.Errorf("insert: %w", &mysql.MySQLError{Number: number, Message: "The table is full"})
		if db.IsUnavailable(err) != away {
			t.Errorf("%v: away is %v", err, !away)
		}
	}
}
