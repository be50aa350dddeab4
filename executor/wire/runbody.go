package wire

import (
	"strconv"
	"unicode/utf8"
)

// encodeRun is [encode] of a request for a run. There are as many of these as runs, so it writes the members itself.
func encodeRun(r *RunRequest) []byte {
	b := make([]byte, 0, 384+len(r.ExecutorHandler)+len(r.ExecutorParams)+len(r.GlueSource)+len(r.GlueSource)/8)
	b = appendNumber(b, `{"jobId":`, r.JobID)
	if r.ExecutorHandler != "" {
		b = appendText(b, `,"executorHandler":`, r.ExecutorHandler)
	}
	b = appendText(b, `,"executorParams":`, r.ExecutorParams)
	if r.BlockStrategy != "" {
		b = appendText(b, `,"executorBlockStrategy":`, string(r.BlockStrategy))
	}
	b = appendNumber(b, `,"executorTimeout":`, int64(r.TimeoutSeconds))
	b = appendNumber(b, `,"logId":`, r.LogID)
	b = appendNumber(b, `,"logDateTime":`, r.LogDateTime)
	b = appendText(b, `,"glueType":`, string(r.GlueType))
	if r.GlueSource != "" {
		b = appendText(b, `,"glueSource":`, r.GlueSource)
	}
	b = appendNumber(b, `,"glueUpdatetime":`, r.GlueUpdateTime)
	b = appendNumber(b, `,"broadcastIndex":`, int64(r.BroadcastIndex))
	b = appendNumber(b, `,"broadcastTotal":`, int64(r.BroadcastTotal))
	if len(r.Environment) > 0 {
		b = appendValue(b, `,"environment":`, r.Environment)
	}
	if len(r.Masks) > 0 {
		b = appendValue(b, `,"masks":`, r.Masks)
	}
	if r.PlannedAt != 0 {
		b = appendNumber(b, `,"plannedAt":`, r.PlannedAt)
	}
	if r.KeepOutput != nil {
		b = append(b, `,"keepOutput":{`...)
		if r.KeepOutput.FailedOnly {
			b = append(b, `"failedOnly":true,`...)
		}
		b = append(appendNumber(b, `"bytes":`, int64(r.KeepOutput.Bytes)), '}')
	}
	if r.Node != 0 {
		b = appendNumber(b, `,"node":`, r.Node)
	}
	if r.TraceParent != "" {
		b = appendText(b, `,"traceparent":`, r.TraceParent)
	}
	return append(b, '}')
}

func appendNumber(b []byte, name string, n int64) []byte {
	return strconv.AppendInt(append(b, name...), n, 10)
}

func appendText(b []byte, name, text string) []byte {
	if !isPlain(text) {
		return appendValue(b, name, text)
	}
	b = append(append(b, name...), '"')
	return append(append(b, text...), '"')
}

// appendValue writes a text, or what consists of texts and numbers: that has an encoding always.
func appendValue(b []byte, name string, value any) []byte {
	encoded, _ := encode(value)
	return append(append(b, name...), encoded...)
}

// isPlain says whether a text stands in JSON as it is.
func isPlain(text string) bool {
	for _, c := range text {
		switch {
		case c < ' ', c == '"', c == '\\', c == utf8.RuneError, c == '\u2028', c == '\u2029':
			return false
		}
	}
	return true
}
