package api

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
)

// setting is a decision about the whole installation, with what holds now.
type setting struct {
	Name      string               `json:"name"`
	Section   string               `json:"section"`
	Kind      manage.SettingKind   `json:"kind" enum:"text,number,switch,choice"`
	Value     string               `json:"value" doc:"What holds now."`
	Default   string               `json:"default"`
	Source    manage.SettingSource `json:"source" enum:"default,stored,environment" doc:"Who decided. What the environment decides is not changed here."`
	Variable  string               `json:"variable" doc:"The variable of the environment that decides instead, if it is set."`
	Unit      string               `json:"unit" doc:"Of a number."`
	Min       int64                `json:"min" doc:"Of a number."`
	Max       int64                `json:"max" doc:"Of a number."`
	Zero      bool                 `json:"zero" doc:"Of a number: 0 is allowed beside those from min to max."`
	Choices   []string             `json:"choices"`
	Broken    bool                 `json:"broken" doc:"What is stored cannot be read, so the default holds."`
	ChangedAt *time.Time           `json:"changed_at"`
}

type settingsAnswer struct {
	ETag string `header:"ETag"`
	Body list[setting]
}

// settingsPatch are new values by the names of their settings.
type settingsPatch struct{ values map[string]string }

// UnmarshalJSON implements [json.Unmarshaler]. What is null is as if it were not named, as in every request.
func (s *settingsPatch) UnmarshalJSON(raw []byte) error {
	var named map[string]*string
	if err := json.Unmarshal(raw, &named); err != nil {
		return err
	}
	s.values = make(map[string]string)
	for name, value := range named {
		if value != nil {
			s.values[name] = *value
		}
	}
	return nil
}

func (s settingsPatch) MarshalJSON() ([]byte, error) { return json.Marshal(s.values) }

// Schema implements [huma.SchemaProvider]: the settings that there are.
func (settingsPatch) Schema(r huma.Registry) *huma.Schema {
	return schemaNamed(r, "SettingsPatch", func() *huma.Schema {
		s := &huma.Schema{Type: huma.TypeObject, Properties: make(map[string]*huma.Schema), AdditionalProperties: false}
		longest := 4000
		for _, def := range manage.AllSettings() {
			p := &huma.Schema{Type: huma.TypeString, MaxLength: &longest}
			for _, choice := range def.Choices {
				p.Enum = append(p.Enum, choice)
			}
			if def.Kind == manage.SettingSwitch {
				p.Enum = []any{manage.SettingOn, manage.SettingOff}
			}
			s.Properties[def.Name] = p
		}
		return s
	})
}

func (a *API) settings() {
	const tag = "settings"
	add(a, op{method: http.MethodGet, path: "/settings", id: "listSettings", tag: tag, summary: "List the settings of the installation"},
		func(ctx context.Context, p auth.Principal, _ *struct{}) (*settingsAnswer, error) {
			return a.settingsAnswer(ctx, p)
		})
	add(a, op{method: http.MethodPatch, path: "/settings", id: "patchSettings", tag: tag, summary: "Change settings, all that are named or none",
		text: "Values are texts, as the list has them."},
		func(ctx context.Context, p auth.Principal, in *struct {
			IfMatch
			Body settingsPatch `contentType:"application/merge-patch+json"`
		}) (*settingsAnswer, error) {
			return a.patchSettings(ctx, p, in.IfMatch, in.Body.values)
		})
}

func (a *API) settingsAnswer(ctx context.Context, p auth.Principal) (*settingsAnswer, error) {
	states, err := a.Manage.Settings.List(ctx, p)
	out := &settingsAnswer{ETag: etag(manage.SettingsVersion(states)), Body: list[setting]{Items: []setting{}}}
	for _, s := range states {
		out.Body.Items = append(out.Body.Items, setting{Name: s.Name, Section: s.Section, Kind: s.Kind, Value: s.Value, Default: s.Default, Source: s.Source, Variable: s.Env,
			Unit: s.Unit, Min: s.Min, Max: s.Max, Zero: s.Zero, Choices: append([]string{}, s.Choices...), Broken: s.Broken, ChangedAt: momentOf(s.ChangedAt)})
	}
	return out, err
}

func (a *API) patchSettings(ctx context.Context, p auth.Principal, match IfMatch, values map[string]string) (*settingsAnswer, error) {
	states, err := a.Manage.Settings.List(ctx, p)
	if err != nil {
		return nil, err
	}
	version := manage.SettingsVersion(states)
	if _, err := match.current(version); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		i := slices.IndexFunc(states, func(s manage.SettingState) bool { return s.Name == name })
		if states[i].Source == manage.SourceEnvironment { // the schema has seen to it that there is one
			return nil, problem.InvalidFields(problem.Field{Name: name, Key: "api.error.environment", Args: []any{"Variable", states[i].Env}})
		}
	}
	if _, err := a.Manage.Settings.Save(ctx, p, values, version); err != nil {
		return nil, match.changed(err)
	}
	did(ctx)
	return a.settingsAnswer(ctx, p)
}
