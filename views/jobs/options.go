package jobs

import "strings"

// previewParams are the fields that say when a job is due.
var previewParams = strings.Join([]string{
	FieldScheduleType, FieldCron, FieldSeconds, FieldMoment, FieldZone, FieldFrom, FieldUntil,
}, ",")

// hasWindow says whether the zone or a bound is set or wrong, so that it must be seen.
func (p FormPage) hasWindow() bool {
	v := p.Values
	return v.Zone != "" || v.From != "" || v.Until != "" || p.wrong(FieldZone, FieldFrom, FieldUntil)
}

// hasAdvanced is hasWindow for the options of the last section.
func (p FormPage) hasAdvanced() bool {
	v := p.Values
	return v.Backoff != "" || v.Tags != "" || set(v.Concurrent) || set(v.Retention) || set(v.WarnAfter) || set(v.ExpectEvery) ||
		p.wrong(FieldBackoff, FieldConcurrent, FieldConcurrency, FieldRetention, FieldWarnAfter, FieldExpectEvery, FieldTags)
}

func (p FormPage) wrong(fields ...string) bool {
	for _, f := range fields {
		if p.Errors[f] != "" {
			return true
		}
	}
	return false
}

func set(number string) bool { return number != "" && number != "0" }

// momentStep is how exact a date field must be for its value: browsers refuse one that is finer than the step.
func momentStep(value string) string {
	if strings.Contains(value, ".") {
		return "0.001"
	}
	return "1"
}

// paramHelp explains the parameter of a run by hand.
func (p RunPage) paramHelp() string {
	if p.OwnParam {
		return p.T("jobs.run.param.own")
	}
	return p.T("jobs.run.param.help")
}
