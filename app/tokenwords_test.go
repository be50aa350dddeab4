package app

import (
	"fmt"
	"strings"
	"testing"
)

// What a program did with a token is kept under its owner's name and its own, in English; each page says it in its reader's language.
func TestWhatATokenDidIsSaidInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	a, c := apiCaller(t, testOptions(t))
	root := open(t, a).mustLogin()
	c.json(201, &map[string]any{}, "POST", "/jobs", fmt.Sprintf(`{"group_id":1,"description":"close","author":"ann","handler":"x","schedule":"CRON","cron":%q}`, notSoon()))
	c.json(200, &map[string]any{}, "POST", "/jobs/1/start", "")
	c.json(201, &map[string]any{}, "POST", "/pauses", `{"scope":"all","strategy":"skip","reason":"the move"}`)
	c.json(201, &map[string]any{}, "POST", "/pauses", `{"scope":"job","target":1,"strategy":"skip","reason":"ended soon"}`)
	c.json(200, &map[string]any{}, "POST", "/pauses/2/end", "")
	for _, tt := range []struct{ language, want string }{
		{"zh-CN", "admin（令牌“all”）"}, {"zh-TW", "admin（權杖「all」）"}, {"en", "admin via token all"},
	} {
		for _, path := range []string{"/", "/jobs/1", "/pauses", "/audit", "/audit?user=admin+via+token+all", "/timeline", "/forecast"} {
			doc := root.do("GET", path, nil, "Accept-Language", tt.language).document(t)
			whole, _ := doc.Find("main").Html()
			if !strings.Contains(whole, tt.want) && path != "/timeline" {
				t.Errorf("%s in %s does not name %q", path, tt.language, tt.want)
			}
			doc.Find("option").RemoveAttr("value")
			if whole, _ = doc.Find("main").Html(); tt.language != "en" && strings.Contains(strings.ReplaceAll(whole, "admin+via", ""), "via token") {
				at := strings.Index(whole, "via token")
				t.Errorf("%s in %s: %s", path, tt.language, whole[max(0, at-100):min(len(whole), at+60)])
			}
		}
	}
}
