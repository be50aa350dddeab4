package app

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// zoneOffsets are the name of a zone and what tells it where the name says nothing, as that of the machine's own: what it is ahead of UTC
// in January and in July.
func zoneOffsets(zone *time.Location, now time.Time) (name, winter, summer string) {
	at := func(month time.Month) string {
		return time.Date(now.Year(), month, 1, 12, 0, 0, 0, zone).Format("UTC-07:00")
	}
	return zone.String(), at(time.January), at(time.July)
}

// keepZone holds the zone against the one of the last start. In another zone every daily job has another hour, and what is stored of
// times is misread. Somebody who sets the zone means it; a machine that has got another one, or a container without any, is refused.
func (b *building) keepZone(ctx context.Context) error {
	zone := b.pool.Zone()
	name, winter, summer := zoneOffsets(zone, time.Now())
	before, err := b.settings.get(ctx, settingZone)
	if err != nil {
		return err
	}
	is := strings.Join([]string{name, winter, summer}, " ")
	was := strings.Split(before, " ")
	if before == is {
		return nil
	}
	if len(was) == 3 && (was[1] != winter || was[2] != summer) {
		// Of a zone whose summer time is given up by law only one of the two is another one.
		if zone == time.Local && was[1] != winter && was[2] != summer {
			return wrong("this machine's time zone is %s, and the installation's was %s (%s in January, %s in July): its jobs would run at other hours. "+
				"Set PUNCTUAL_TIME_ZONE to the zone that is meant, %s to go on as before", winter, nameOf(was), was[1], was[2], suggestedZone(was))
		}
		b.logger.Warn("the time zone is another one than at the last start: schedules hold in it, and times of runs before are shown too early or too late by the difference",
			"before", before, "now", is)
	}
	return b.settings.set(ctx, settingZone, is)
}

// nameOf is what a zone that was kept is called.
func nameOf(kept []string) string {
	if kept[0] == time.Local.String() {
		return kept[1]
	}
	return kept[0]
}

// suggestedZone is what to write for a zone that was kept, as far as that is known.
func suggestedZone(kept []string) string {
	if kept[0] != "Local" { // which names no zone, and has another name where TZ is set
		return kept[0]
	}
	if kept[1] != kept[2] {
		return fmt.Sprintf("the name of a zone with %s and %s", kept[1], kept[2])
	}
	switch kept[1] {
	case "UTC+00:00":
		return "UTC"
	case "UTC+08:00":
		return "Asia/Shanghai"
	}
	return "the name of a zone with " + kept[1]
}
