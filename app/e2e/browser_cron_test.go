package e2e

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/views/link"
)

// TestBrowserCronWordsInTaiwan reads some of them in Traditional Chinese, of which the library has words of its own.
func TestBrowserCronWordsInTaiwan(t *testing.T) {
	cronWords(t, "zh-TW", map[string]string{
		"0 0 2 * * ?":             "每天 02:00",
		"0 0 9-18 * * ?":          "09:00 至 18:00 每小時",
		"15 0 * * * ?":            "整點第 15 秒",
		"0 30 * * * ?":            "每小時 第 30 分鐘",
		"5,25 * * * * ?":          "每分鐘 第 5、25 秒",
		"0 0/30 9-18 ? * MON-FRI": "每週一至週五 09:00 至 18:59 每 30 分鐘",
		"0 0 3 1,10,20 * ?":       "每月 1 日、10 日、20 日 03:00",
		"0 0 2 LW * ?":            "每月最後一個工作日 02:00",
		"0 15 10 ? * 6#3":         "每月第三個週五 10:15",
		"0 0 3 ? * SUN":           "每週日 03:00",
		"0 0 12 1W * ?":           "每月第一個工作日 12:00",
		"0 0 0 1 1 ? 2027":        "2027 年 1 月 1 日 00:00",
		"0 10,44 14 ? 3 WED":      "每年 3 月 每週三 14:00 第 10、44 分鐘",
		"0 0 5 31 10-12 ?":        "每年 10 月至 12 月 31 日 05:00",
		"0 0 4 1 */3 ?":           "每 3 個月 1 日 04:00",
	})
}

// TestBrowserCronWords reads cron texts in Chinese, whose order the script makes out of the English one of its library.
func TestBrowserCronWords(t *testing.T) {
	cronWords(t, "zh-CN", map[string]string{
		"0/20 * * * * ?":              "每 20 秒",
		"0 0 2 * * ?":                 "每天 02:00",
		"0 0 10,14,16 * * ?":          "每天 10:00、14:00、16:00",
		"0 0 9-18 * * ?":              "09:00 至 18:00 每小时",
		"15 0 * * * ?":                "整点第 15 秒",
		"0 30 * * * ?":                "每小时 第 30 分钟",
		"15 * * * * ?":                "每分钟 第 15 秒",
		"0 0 3 ? * MON,WED,FRI":       "每周一、周三、周五 03:00",
		"0 0/30 9-18 ? * MON-FRI":     "每周一至周五 09:00 至 18:59 每 30 分钟",
		"0 0 3 1,10,20 * ?":           "每月 1 日、10 日、20 日 03:00",
		"0 0 2 LW * ?":                "每月最后一个工作日 02:00",
		"0 15 10 ? * 6#3":             "每月第三个周五 10:15",
		"0 0 3 ? * SUN":               "每周日 03:00",
		"0 0 12 1W * ?":               "每月第一个工作日 12:00",
		"0 0 8 1 1,4,7 ?":             "每年 1 月、4 月、7 月 1 日 08:00",
		"0 0 0 1 1 ? 2027":            "2027 年 1 月 1 日 00:00",
		"0 10,44 14 ? 3 WED":          "每年 3 月 每周三 14:00 第 10、44 分钟",
		"0 0 5 31 10-12 ?":            "每年 10 月至 12 月 31 日 05:00",
		"0 0 4 * 12 ?":                "每年 12 月 每天 04:00",
		"0 0 0 L 2 ?":                 "每年 2 月最后一天 00:00",
		"0 15 10 15 * ? 2027-2029":    "2027 年至 2029 年 每月 15 日 10:15",
		"no cron at all, and no more": "",
	})
}

// TestBrowserCronWordsInEnglish: what happens each hour is not said to happen each day, too.
func TestBrowserCronWordsInEnglish(t *testing.T) {
	cronWords(t, "en", map[string]string{
		"0 0 2 * * ?":    "At 02:00, every day",
		"0 30 * * * ?":   "At 30 minutes past the hour, every hour",
		"15 * * * * ?":   "At 15 seconds past the minute, every minute",
		"0 30 8 ? * MON": "At 08:30, only on Monday",
	})
}

func cronWords(t *testing.T, lang string, words map[string]string) {
	works(t)
	a := startAdmin(t, adminSettings{env: []string{"PUNCTUAL_SAMPLE=on"}})
	w := newWindow(t, a.url, desk)
	w.cookie("lang", lang)
	w.enter(a.login(t, testPassword))
	w.visit(link.JobNewPath)
	for cron, want := range words {
		var got string
		w.do(chromedp.Evaluate(fmt.Sprintf(`(() => {
			const input = document.querySelector("[data-cron-input]");
			input.value = %q;
			input.dispatchEvent(new Event("input"));
			return document.querySelector("[data-cron-sentence] span").textContent;
		})()`, cron), &got))
		if got != want {
			t.Errorf("%s reads %q, want %q", cron, got, want)
		}
	}
}
