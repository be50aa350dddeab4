package app

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

func TestSettingsAreTheSameWhereverTheyAreSaved(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		u := newUntouched(t, o, "punctual_setting")
		u.root.giveCode(t) // of whom a second factor is required, sessions without one end
		u.tables = []string{"punctual_setting WHERE name NOT IN ('" + upkeep.SettingSchedulesSeen + "', '" + upkeep.SettingSkipsCounted + "')"}
		texts := map[string][]string{
			manage.SettingPublicURL: {"", "https://p.example/x/", " https://p.example/%20 "}, manage.SettingMailDomains: {"", "Example.com, b.example"},
			manage.SettingAllow: {"", "10.0.0.0/8, example.com\n*.b.example"}, manage.SettingDeny: {"", "10.0.0.1 10.0.0.2"}, manage.SettingHTTPAllow: {"", "public", "10.0.0.1,public"},
		}
		often(t, func(r *rapid.T) bool {
			sent := map[string]any{}
			for _, s := range manage.AllSettings() {
				if rapid.IntRange(0, 5).Draw(r, "has "+s.Name) > 0 {
					continue
				}
				switch s.Kind {
				case manage.SettingNumber:
					sent[s.Name] = fmt.Sprint(rapid.Int64Range(s.Min, s.Max).Draw(r, s.Name))
				case manage.SettingSwitch:
					sent[s.Name] = rapid.SampledFrom([]string{manage.SettingOn, manage.SettingOff}).Draw(r, s.Name)
				case manage.SettingChoice:
					sent[s.Name] = rapid.SampledFrom(s.Choices).Draw(r, s.Name)
				default:
					sent[s.Name] = rapid.OneOf(rapid.SampledFrom(append(texts[s.Name], "")), oddText()).Draw(r, s.Name)
				}
			}
			p, ok := u.make(r, "PATCH", "/settings", sent)
			if !ok {
				return false
			}
			p.same("nothing")
			late := p.form("/settings", "/settings")
			p.patched()
			p.posted("/settings", late)
			back := map[string]any{}
			for _, s := range manage.AllSettings() {
				back[s.Name] = s.Default
			}
			u.make(r, "PATCH", "/settings", back)
			return true
		})
	})
}
