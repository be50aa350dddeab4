package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// CalendarsCmd looks after the calendars that jobs keep to.
type CalendarsCmd struct {
	List   calendarsList   `cmd:"" default:"withargs" help:"List calendars."`
	Show   calendarsShow   `cmd:"" help:"Show a calendar; -o json is its file, and more."`
	Import calendarsImport `cmd:"" help:"Create or replace a calendar from its file (JSON) or from an iCalendar file."`
}

var calendarColumns = []column{
	field("NAME", "name"), field("TITLE", "title"), field("ZONE", "zone"), field("JOBS", "jobs"), field("MISSING", "missing"), field("CHANGED", "changed_at"), wideField("BY", "changed_by"),
}

type calendarsList struct{ Target }

func (c calendarsList) Run(ctx context.Context, s Streams) error {
	return c.get(ctx, s, "/calendars", nil, unpaged, calendarColumns)
}

type calendarsShow struct {
	Target
	Name string `arg:"" complete:"calendars" help:"Its name."`
}

func (c calendarsShow) Run(ctx context.Context, s Streams) error {
	return c.show(ctx, s, "/calendars/"+url.PathEscape(c.Name), calendarColumns)
}

type calendarsImport struct {
	Target
	File  string   `arg:"" help:"The file; - is standard input."`
	Name  string   `help:"The name of the calendar; default what its file says, of an iCalendar file the file's name."`
	Zone  string   `placeholder:"ZONE" help:"Of an iCalendar file: the zone whose days it tells."`
	Week  []string `default:"mon,tue,wed,thu,fri" help:"Of an iCalendar file: the weekdays on which people work."`
	Work  string   `placeholder:"TEXT" help:"Of an iCalendar file: events with this in their titles are working days."`
	Title string   `help:"Of an iCalendar file: what it is."`
}

// maxCalendar is what the admin takes.
const maxCalendar = 1 << 20

func (c calendarsImport) Run(ctx context.Context, s Streams) error {
	data, err := c.read(s)
	if err != nil {
		return err
	}
	a, err := c.api()
	if err != nil {
		return err
	}
	name := c.Name
	var raw []byte
	at := func() string { return "/calendars/" + url.PathEscape(name) }
	if strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(string(data), "\ufeff")), "BEGIN:") {
		if name == "" {
			name = strings.ToLower(strings.TrimSuffix(filepath.Base(c.File), filepath.Ext(c.File)))
		}
		raw, err = a.replace(ctx, at(), http.MethodPost, at()+"/import",
			map[string]any{"icalendar": string(data), "title": c.Title, "zone": c.Zone, "week": c.Week, "work_word": c.Work})
	} else {
		var file map[string]any
		if err := json.Unmarshal(data, &file); err != nil {
			return fmt.Errorf("%s is no calendar: %w", c.File, err)
		}
		if name == "" {
			name, _ = file["name"].(string)
		}
		if name == "" {
			return fmt.Errorf("%s names no calendar: give one with --name", c.File)
		}
		for _, told := range []string{"name", "shipped", "changed", "jobs", "missing", "changed_at", "changed_by", "left_out"} { // what show says beside the file
			delete(file, told)
		}
		raw, err = a.replace(ctx, at(), http.MethodPut, at(), file)
	}
	if err != nil {
		return err
	}
	var made struct {
		LeftOut int `json:"left_out"`
	}
	if err := json.Unmarshal(raw, &made); err == nil && made.LeftOut > 0 {
		fmt.Fprintf(s.Err, "events left out, because they have a time of day, repeat or were cancelled: %d\n", made.LeftOut)
	}
	return (printer{s.Out, c.Output}).one(raw, calendarColumns)
}

func (c calendarsImport) read(s Streams) ([]byte, error) {
	in := s.In
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxCalendar+1))
	if err == nil && len(data) > maxCalendar {
		err = fmt.Errorf("%s is larger than 1 MiB", c.File)
	}
	return data, err
}
