package cron_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/scheduler/cron"
)

func TestParseErrorsNameTheFieldAndSayWhatToDo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, element, message string
		field                  cron.Field
		reason                 cron.Reason
	}{
		{"* * * * *", "", `cron: has 5 fields; write second minute hour day-of-month month day-of-week and, if wanted, year`, "", cron.ReasonFieldCount},
		{"*", "", `cron: has 1 field; write second minute hour day-of-month month day-of-week and, if wanted, year`, "", cron.ReasonFieldCount},
		{"", "", `cron: has 0 fields; write second minute hour day-of-month month day-of-week and, if wanted, year`, "", cron.ReasonFieldCount},
		{"0 0 9 1 * MON", "MON", `cron: day-of-week "MON": day-of-month and day-of-week are both set; write "?" in the one that does not matter`, cron.DayOfWeek, cron.ReasonBothDays},
		{"0 0 9 ? * ?", "?", `cron: day-of-week "?": day-of-month and day-of-week are both "?"; set one of them, for example to "*"`, cron.DayOfWeek, cron.ReasonNoDay},
		{"0 5,61 9 * * ?", "61", `cron: minute "61": is out of range; use 0 to 59`, cron.Minute, cron.ReasonOutOfRange},
		{"0 0 9 0 * ?", "0", `cron: day-of-month "0": is out of range; use 1 to 31`, cron.DayOfMonth, cron.ReasonOutOfRange},
		{"0/60 0 9 * * ?", "0/60", `cron: second "0/60": has a step that is too large; use 1 to 59`, cron.Second, cron.ReasonStepOutOfRange},
		{"0 0 */x * * ?", "*/x", `cron: hour "*/x": has no whole number behind "/"; write a step such as "/5"`, cron.Hour, cron.ReasonStepMissing},
		{"0 0/5X 9 * * ?", "0/5X", `cron: minute "0/5X": has no whole number behind "/"; write a step such as "/5"`, cron.Minute, cron.ReasonStepMissing},
		{"0 5-x 9 * * ?", "5-x", `cron: minute "5-x": has no end behind "-"; write a range such as 1-5 or, with names, MON-FRI`, cron.Minute, cron.ReasonRangeEnd},
		{"0 0 9 1 1 ? 2030-2026", "2030-2026", `cron: year "2030-2026": ends before it starts; write the earlier year first, up to 2126`, cron.Year, cron.ReasonYearOrder},
		{"0 0 9 ? * mon-xyz", "mon-xyz", `cron: day-of-week "mon-xyz": is not a name this field knows; use SUN to SAT, or 1 (Sunday) to 7 (Saturday)`, cron.DayOfWeek, cron.ReasonUnknownName},
		{"0 0 9 1 XYZ ?", "XYZ", `cron: month "XYZ": is not a name this field knows; use JAN to DEC, or 1 to 12`, cron.Month, cron.ReasonUnknownName},
		{"0 0 9 1 1 ? 99999999999", "99999999999", `cron: year "99999999999": has a number that is too large`, cron.Year, cron.ReasonNumberTooLarge},
		{"0 0 9 ? * MON#6", "MON#6", `cron: day-of-week "MON#6": needs 1 to 5 behind "#", such as FRI#2 for the second Friday`, cron.DayOfWeek, cron.ReasonOrdinal},
		{"0 0 9 ? * 2#1,4#1", "2#1,4#1", `cron: day-of-week "2#1,4#1": has "#" twice; use one weekday with "#"`, cron.DayOfWeek, cron.ReasonTwoOrdinals},
		{"0 0 9 ? * MON,L", "MON,L", `cron: day-of-week "MON,L": has "L" in a list; write the last weekday alone, such as FRIL`, cron.DayOfWeek, cron.ReasonLastInList},
		{"0 0 9 L-31 * ?", "L-31", `cron: day-of-month "L-31": needs a number up to 30 behind "L-"`, cron.DayOfMonth, cron.ReasonLastOffset},
		{"0 0 L * * ?", "L", `cron: hour "L": "L" has no meaning in this field; "L" belongs in day-of-month, or behind a weekday`, cron.Hour, cron.ReasonNotHere},
		{"0 5W 9 * * ?", "5W", `cron: minute "5W": "W" has no meaning in this field; "W" belongs behind a day-of-month`, cron.Minute, cron.ReasonNotHere},
		{"0 0 9 ?55 * MON", "?55", `cron: day-of-month "?55": has text behind "?"; write "?" alone`, cron.DayOfMonth, cron.ReasonQuestionMark},
		{"0 -5 9 * * ?", "-5", `cron: minute "-5": starts with a character that means nothing here; use numbers, names, and * , - / ?`, cron.Minute, cron.ReasonCharacter},
	} {
		_, err := parser2026.Parse(tt.text)
		e, ok := err.(*cron.ParseError)
		if !ok {
			t.Errorf("%q: got error %v, want a *ParseError", tt.text, err)
			continue
		}
		if e.Field != tt.field || e.Element != tt.element || e.Reason != tt.reason || e.Text != tt.text {
			t.Errorf("%q: got field %q element %q reason %q text %q", tt.text, e.Field, e.Element, e.Reason, e.Text)
		}
		if e.Error() != tt.message {
			t.Errorf("%q:\n got %s\nwant %s", tt.text, e, tt.message)
		}
	}
}

func TestOddTextIsAcceptedUnderstoodAndWarnedAbout(t *testing.T) {
	t.Parallel()
	type w = cron.Warning
	for _, tt := range []struct {
		name, text, understood string
		warnings               []cron.Warning
	}{
		{"an ordinary text has no warning", "0 0/30 9-17 ? * MON-FRI", "0 0/30 9-17 ? * MON-FRI", nil},
		{"weekday numbers get their names", "0 0 9 ? * 2-6 2026-2030", "0 0 9 ? * MON-FRI 2026-2030", nil},
		{"weekdays with a step stay numbers", "0 0 9 ? * 2/2", "0 0 9 ? * 2/2", nil},
		{"blanks, case and a year that says nothing go", " 0  0\t9 lw Jan,12 ? * ", "0 0 9 LW JAN,12 ?", nil},
		{"a range may wrap around", "0 0 22-2 ? * SAT-MON", "0 0 22-2 ? * SAT-MON", nil},
		{"a step behind names is ignored", "0 0 9 ? * MON-FRI/2", "0 0 9 ? * MON-FRI", []w{{cron.WarnIgnoredText, cron.DayOfWeek, "MON-FRI/2", "MON-FRI"}}},
		{"a letter behind a number is ignored", "0 5A 9 * * ?", "0 5 9 * * ?", []w{{cron.WarnIgnoredText, cron.Minute, "5A", "5"}}},
		{"L behind a range is ignored", "0 0 9 1-5L * ?", "0 0 9 1-5 * ?", []w{{cron.WarnIgnoredText, cron.DayOfMonth, "1-5L", "1-5"}}},
		{"a full name is cut to three letters", "0 0 9 1 January-March ?", "0 0 9 1 JAN ?", []w{{cron.WarnIgnoredText, cron.Month, "January-March", "JAN"}}},
		{"text behind a star is ignored", "0 *5 9 * * ?", "0 * 9 * * ?", []w{{cron.WarnIgnoredText, cron.Minute, "*5", "*"}}},
		{"text behind a step of two digits is ignored", "0 0/15X 9 * * ?", "0 0/15 9 * * ?", []w{{cron.WarnIgnoredText, cron.Minute, "0/15X", "0/15"}}},
		{"L-3 as a weekday is Saturday", "0 0 9 ? * L-3", "0 0 9 ? * SAT", []w{{cron.WarnIgnoredText, cron.DayOfWeek, "L-3", "SAT"}}},
		{"step 0 of everything is everything", "0 */0 9 * * ?", "0 * 9 * * ?", []w{{cron.WarnStepZero, cron.Minute, "*/0", "*"}}},
		{"step 0 of a number is that number", "0 7/0 9 * * ?", "0 7 9 * * ?", []w{{cron.WarnStepZero, cron.Minute, "7/0", "7"}}},
		{"step 0 of a range is its start", "0 0 3-9/0 * * ?", "0 0 3 * * ?", []w{{cron.WarnStepZero, cron.Hour, "3-9/0", "3"}}},
		{"99 is every value", "99 99/5 9 * * ?", "* */5 9 * * ?", []w{{cron.WarnMagicAll, cron.Second, "99", "*"}, {cron.WarnMagicAll, cron.Minute, "99/5", "*/5"}}},
		{"99-3 counts from the lowest value", "0 99-3 9 * * ?", "0 0,1,2,3 9 * * ?", []w{{cron.WarnMagicAll, cron.Minute, "99-3", "0,1,2,3"}}},
		{"98 is no value", "0 0 9 98 * MON", "0 0 9 ? * MON", []w{{cron.WarnMagicNone, cron.DayOfMonth, "98", "?"}}},
		{"98#1 is no value either", "0 0 9 1 * 98#1", "0 0 9 1 * ?", []w{{cron.WarnMagicNone, cron.DayOfWeek, "98#1", "?"}}},
		{"values beside ? are ignored", "0 0 9 1,? * MON", "0 0 9 ? * MON", []w{{cron.WarnBesideNone, cron.DayOfMonth, "1,?", "?"}}},
		{"a list with # is its smallest weekday", "0 0 9 ? * 2,6#3", "0 0 9 ? * MON#3", []w{{cron.WarnListOrdinal, cron.DayOfWeek, "2,6#3", "MON#3"}}},
		{"weekday 0 with # is Saturday", "0 0 9 ? * 0#2", "0 0 9 ? * SAT#2", []w{{cron.WarnNoSuchValue, cron.DayOfWeek, "0#2", "SAT#2"}}},
		{"weekday 9 never comes", "0 0 9 ? * 9#2", "0 0 9 ? * 9#2", []w{
			{cron.WarnNoSuchValue, cron.DayOfWeek, "9#2", "9#2"}, {cron.WarnNever, "", "0 0 9 ? * 9#2", "0 0 9 ? * 9#2"}}},
		{"day 0W never comes", "0 0 9 0W * ?", "0 0 9 0W * ?", []w{
			{cron.WarnNoSuchValue, cron.DayOfMonth, "0W", "0W"}, {cron.WarnNever, "", "0 0 9 0W * ?", "0 0 9 0W * ?"}}},
		{"empty list elements are skipped", "0 1,,2 9 * * ?", "0 1,2 9 * * ?", []w{{cron.WarnEmptyElement, cron.Minute, "1,,2", "1,2"}}},
		{"L in the month is nothing", "0 0 9 1 L,5 ?", "0 0 9 1 5 ?", []w{{cron.WarnNoEffect, cron.Month, "L", ""}}},
		{"a month with nothing but L cannot be evaluated", "0 0 9 1 L ?", "0 0 9 1 , ?", []w{
			{cron.WarnNoEffect, cron.Month, "L", ""}, {cron.WarnNoValue, cron.Month, "0 0 9 1 L ?", "0 0 9 1 , ?"}}},
		{"30 February never comes", "0 0 9 30 2 ?", "0 0 9 30 2 ?", []w{{cron.WarnNever, "", "0 0 9 30 2 ?", "0 0 9 30 2 ?"}}},
		{"a year list without years never comes", "0 0 9 1 1 ? L", "0 0 9 1 1 ? ,", []w{
			{cron.WarnNoEffect, cron.Year, "L", ""}, {cron.WarnNever, "", "0 0 9 1 1 ? L", "0 0 9 1 1 ? ,"}}},
		{"years that are over are over", "0 0 9 1 1 ? 2020", "0 0 9 1 1 ? 2020", []w{{cron.WarnPast, "", "0 0 9 1 1 ? 2020", "0 0 9 1 1 ? 2020"}}},
	} {
		e, err := parser2026.Parse(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := e.String(); got != tt.understood {
			t.Errorf("%s: understood %q as %q, want %q", tt.name, tt.text, got, tt.understood)
		}
		if diff := cmp.Diff(tt.warnings, e.Warnings()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
