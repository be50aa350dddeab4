package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// The decoders read what a peer of any era sends. Each tries the plain struct first, which is what official peers need,
// and only when a member has another type than expected falls back to reading it loosely (numbers written as text).

// DecodeRun reads the body of /run and /trigger.
func DecodeRun(body []byte) (RunRequest, error) {
	if r, ok := quickRun(body); ok {
		return r, nil
	}
	return decodeRun(body)
}

func decodeRun(body []byte) (RunRequest, error) {
	body = withoutMark(body)
	var r RunRequest
	err := json.Unmarshal(body, &r)
	if err == nil {
		return r, nil
	}
	if !isTypeError(err) {
		return RunRequest{}, err
	}
	var l struct {
		JobID           loose     `json:"jobId"`
		ExecutorHandler looseText `json:"executorHandler"`
		ExecutorParams  looseText `json:"executorParams"`
		BlockStrategy   looseText `json:"executorBlockStrategy"`
		TimeoutSeconds  loose     `json:"executorTimeout"`
		LogID           loose     `json:"logId"`
		LogDateTime     loose     `json:"logDateTime"`
		GlueType        looseText `json:"glueType"`
		GlueSource      looseText `json:"glueSource"`
		GlueUpdateTime  loose     `json:"glueUpdatetime"`
		BroadcastIndex  loose     `json:"broadcastIndex"`
		BroadcastTotal  loose     `json:"broadcastTotal"`

		Environment map[string]string `json:"environment"`
		Masks       []string          `json:"masks"`
		PlannedAt   loose             `json:"plannedAt"`
		KeepOutput  json.RawMessage   `json:"keepOutput"`
		Node        loose             `json:"node"`
		TraceParent looseText         `json:"traceparent"`
	}
	if err := json.Unmarshal(body, &l); err != nil {
		return RunRequest{}, err
	}
	var wish *OutputWish
	if json.Unmarshal(l.KeepOutput, &wish) != nil { // a wish that is not understood is none
		wish = nil
	}
	return RunRequest{
		JobID: int64(l.JobID), ExecutorHandler: string(l.ExecutorHandler), ExecutorParams: string(l.ExecutorParams),
		BlockStrategy: Block(l.BlockStrategy), TimeoutSeconds: int(l.TimeoutSeconds), LogID: int64(l.LogID),
		LogDateTime: int64(l.LogDateTime), GlueType: Glue(l.GlueType), GlueSource: string(l.GlueSource),
		GlueUpdateTime: int64(l.GlueUpdateTime), BroadcastIndex: int(l.BroadcastIndex), BroadcastTotal: int(l.BroadcastTotal), Environment: l.Environment, Masks: l.Masks,
		PlannedAt: int64(l.PlannedAt), KeepOutput: wish, Node: int64(l.Node), TraceParent: string(l.TraceParent),
	}, nil
}

// DecodeIdleBeat reads the body of /idleBeat.
func DecodeIdleBeat(body []byte) (IdleBeatRequest, error) {
	k, err := DecodeKill(body)
	return IdleBeatRequest{JobID: k.JobID}, err
}

// DecodeKill reads the body of /kill.
func DecodeKill(body []byte) (KillRequest, error) {
	var l struct {
		JobID loose `json:"jobId"`
		LogID loose `json:"logId"`
	}
	if err := json.Unmarshal(withoutMark(body), &l); err != nil {
		return KillRequest{}, err
	}
	return KillRequest{JobID: int64(l.JobID), LogID: int64(l.LogID)}, nil
}

// DecodeLog reads the body of /log. Whichever spelling of the time the peer used, both members are filled.
func DecodeLog(body []byte) (LogRequest, error) {
	var l struct {
		LogDateTim  loose `json:"logDateTim"`
		LogDateTime loose `json:"logDateTime"`
		LogID       loose `json:"logId"`
		FromLineNum loose `json:"fromLineNum"`
	}
	if err := json.Unmarshal(withoutMark(body), &l); err != nil {
		return LogRequest{}, err
	}
	at := max(int64(l.LogDateTim), int64(l.LogDateTime))
	from := min(max(int64(l.FromLineNum), math.MinInt32), math.MaxInt32)
	return LogRequest{LogDateTim: at, LogDateTime: at, LogID: int64(l.LogID), FromLineNum: int(from)}, nil
}

// DecodeRegistry reads the body of /api/registry and /api/registryRemove.
func DecodeRegistry(body []byte) (RegistryRequest, error) {
	var l struct {
		Group looseText `json:"registryGroup"`
		Key   looseText `json:"registryKey"`
		Value looseText `json:"registryValue"`
		Code  []string  `json:"codeHandlers"`
		Env   bool      `json:"takesEnvironment"`
	}
	if err := json.Unmarshal(withoutMark(body), &l); err != nil {
		return RegistryRequest{}, err
	}
	return RegistryRequest{RegistryGroup: string(l.Group), RegistryKey: string(l.Key), RegistryValue: string(l.Value), CodeHandlers: l.Code, TakesEnvironment: l.Env}, nil
}

// callbackItem is one result in the spelling of any era. Admins read past members that they do not know, of whatever type these are: what is of
// another era, of ours or of no use keeps no result from being read.
type callbackItem struct {
	LogID         loose           `json:"logId"`
	LogDateTim    passing         `json:"logDateTim"`
	LogDateTime   passing         `json:"logDateTime"`
	HandleCode    loose           `json:"handleCode"`
	HandleMsg     looseText       `json:"handleMsg"`
	Undone        looseText       `json:"undone"`
	ExecuteResult json.RawMessage `json:"executeResult"`
	Outputs       json.RawMessage `json:"outputs"`
	Pushed        json.RawMessage `json:"outputPushed"`
	Waited        passing         `json:"waitedMs"`
}

// passing is a number that nothing hangs on: what is none is 0.
type passing int64

// UnmarshalJSON implements [json.Unmarshaler].
func (p *passing) UnmarshalJSON(b []byte) error {
	if (*loose)(p).UnmarshalJSON(b) != nil {
		*p = 0
	}
	return nil
}

// DecodeCallbacks reads the body of /api/callback: an array, era J4's object with callbackList, or a result by itself. What is none of
// these is an error: whoever is told of a success forgets its results. Where handleCode is absent or zero the older executeResult counts
// (docs/compat.md §1.5).
func DecodeCallbacks(body []byte) ([]Callback, error) {
	if callbacks, ok := quickCallbacks(body); ok {
		return callbacks, nil
	}
	return decodeCallbacks(body)
}

func decodeCallbacks(body []byte) ([]Callback, error) {
	items, err := callbackItems(body)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		// 2.1.1 writes the low byte of each character, which can put raw control characters into strings.
		items, err = callbackItems(blankControls(body))
	}
	if err != nil {
		return nil, fmt.Errorf("decode callbacks: %w", err)
	}
	callbacks := make([]Callback, len(items))
	for i, it := range items {
		at := max(int64(it.LogDateTim), int64(it.LogDateTime))
		c := Callback{LogID: int64(it.LogID), LogDateTim: at, LogDateTime: at,
			HandleCode: int(it.HandleCode), HandleMsg: string(it.HandleMsg), Undone: Undone(it.Undone), Pushed: string(it.Pushed) == "true",
			Waited: min(max(int64(it.Waited), 0), MaxWaited)}
		if c.HandleCode == 0 && len(it.ExecuteResult) > 0 {
			var older *struct {
				Code loose     `json:"code"`
				Msg  looseText `json:"msg"`
			}
			if err := json.Unmarshal(it.ExecuteResult, &older); err != nil {
				return nil, fmt.Errorf("decode callbacks: %w", err)
			}
			if older != nil {
				c.HandleCode, c.HandleMsg = int(older.Code), string(older.Msg)
			}
		}
		var outputs map[string]looseText
		if len(it.Outputs) > 0 && json.Unmarshal(it.Outputs, &outputs) == nil && len(outputs) > 0 {
			c.Outputs = make(map[string]string, len(outputs))
			for key, value := range outputs {
				c.Outputs[key] = string(value)
			}
		}
		callbacks[i] = c
	}
	return callbacks, nil
}

func callbackItems(body []byte) (items []callbackItem, err error) {
	body = bytes.TrimSpace(withoutMark(body))
	if len(body) == 0 || body[0] != '{' {
		err = json.Unmarshal(body, &items)
	} else {
		var object struct {
			callbackItem
			CallbackList []callbackItem `json:"callbackList"`
		}
		err = json.Unmarshal(body, &object)
		items = object.CallbackList
		if items == nil && object.LogID != 0 {
			items = []callbackItem{object.callbackItem}
		}
	}
	if err == nil && items == nil {
		err = errNoResults
	}
	return items, err
}

var errNoResults = errors.New("there is no list of results")

func blankControls(body []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, body)
}

func isTypeError(err error) bool {
	var typeErr *json.UnmarshalTypeError
	return errors.As(err, &typeErr)
}
