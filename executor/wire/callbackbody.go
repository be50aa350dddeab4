package wire

// AppendCallback appends a result as [encode] writes it, with [Callback.Ended] if that is set. There are as many of these as runs, so it writes the
// members itself.
func AppendCallback(b []byte, c *Callback) []byte {
	b = appendNumber(b, `{"logId":`, c.LogID)
	b = appendNumber(b, `,"logDateTim":`, c.LogDateTim)
	b = appendNumber(b, `,"logDateTime":`, c.LogDateTime)
	b = appendNumber(b, `,"handleCode":`, int64(c.HandleCode))
	if c.HandleMsg != "" {
		b = appendText(b, `,"handleMsg":`, c.HandleMsg)
	}
	if c.Undone != "" {
		b = appendText(b, `,"undone":`, string(c.Undone))
	}
	if len(c.Outputs) > 0 {
		b = appendValue(b, `,"outputs":`, c.Outputs)
	}
	if c.Pushed {
		b = append(b, `,"outputPushed":true`...)
	}
	if c.Waited != 0 {
		b = appendNumber(b, `,"waitedMs":`, c.Waited)
	}
	if c.Ended != 0 {
		b = appendNumber(b, `,"endedAt":`, c.Ended)
	}
	return append(b, '}')
}

// encodeCallbacks is the body of /api/callback as most admins want it. One of era J1 (2.2.0) knows executeResult only, and loses the result
// without it; later ones leave it alone (docs/compat.md §1.5, §1.10).
func encodeCallbacks(callbacks []Callback) []byte {
	b := []byte{'['}
	for i := range callbacks {
		c := &callbacks[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendCallback(b, c)
		b = appendNumber(b[:len(b)-1], `,"executeResult":{"code":`, int64(c.HandleCode))
		if c.HandleMsg != "" {
			b = appendText(b, `,"msg":`, c.HandleMsg)
		}
		b = append(b, "}}"...)
	}
	return append(b, ']')
}

// encodeCallbackList is the body of /api/callback as era J4 wants it.
func encodeCallbackList(callbacks []Callback) []byte {
	b := []byte(`{"callbackList":[`)
	for i := range callbacks {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendCallback(b, &callbacks[i])
	}
	return append(b, "]}"...)
}
