package db

import (
	"strconv"
	"strings"
)

// IDList is ids as a column of text has them, with commas; [ReadIDs] reads it.
func IDList(ids []int64) string {
	list := make([]byte, 0, 12*len(ids))
	for i, id := range ids {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendInt(list, id, 10)
	}
	return string(list)
}

// ReadIDs are the ids of such a list. What is no number is left out.
func ReadIDs(list string) (ids []int64) {
	for text := range strings.SplitSeq(list, ",") {
		if id, err := strconv.ParseInt(text, 10, 64); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// IDs takes a column of ids out of rows.
func IDs[R any](rows []R, id func(*R) int64) []int64 {
	ids := make([]int64, len(rows))
	for i := range rows {
		ids[i] = id(&rows[i])
	}
	return ids
}
