package console

import (
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/archive"
	"github.com/punctual-job/punctual/views/layout"
)

// TestTheCopyOfAnOutputSaysWhatItIs: until when it was copied is known of a run that goes on, not of one whose executor went: its copy was put
// aside minutes after its last line.
func TestTheCopyOfAnOutputSaysWhatItIs(t *testing.T) {
	t.Parallel()
	c := &runPages{timelines: &timelines{frame: &frame{zone: time.UTC}}}
	page := layout.Page{Printer: locales.New().Printer(locales.English), Times: time.UTC}
	at := time.Date(2026, 11, 29, 8, 30, 0, 0, time.UTC).UnixMilli()
	for want, kept := range map[string]archive.Copy{
		"This is the copy kept at 2026-11-29 08:30:00: the executor does not have the output any more, or does not answer.":  {State: db.OutputWhole},
		"This is what was copied until 2026-11-29 08:30:00: the executor does not answer.":                                   {State: db.OutputLive, Interrupted: true},
		"This is what was copied until 2026-11-29 08:30:00: the executor does not answer. In the middle 1 line is not kept.": {State: db.OutputDue, Left: 1},
		"This is what was copied before the executor was gone. The end is missing.":                                          {State: db.OutputPart, Interrupted: true},
		"This is what was copied before the executor was gone. The end is missing. In the middle 1,200 lines are not kept.":  {State: db.OutputPart, Interrupted: true, Left: 1200},
	} {
		kept.KeptAt = at
		if got := c.keptNote(page, &kept); got != want {
			t.Errorf("%+v:\n got %s\nwant %s", kept, got, want)
		}
	}
}
