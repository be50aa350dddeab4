package e2e

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/link"
)

// TestBrowserTheFormOfRights gives rights in many executors with what the script adds: a search, and a box for all that it leaves.
func TestBrowserTheFormOfRights(t *testing.T) {
	t.Parallel()
	for _, screen := range []screen{desk, phone} {
		t.Run(screen.name, func(t *testing.T) {
			works(t)
			a := startAdmin(t, adminSettings{})
			s := a.login(t, testPassword)
			for i := range 15 {
				name := fmt.Sprintf("group%02d", i)
				s.must(t, link.ExecutorsPath, url.Values{groups.FieldAppName: {name}, groups.FieldTitle: {name}, groups.FieldType: {groups.TypeAuto}})
			}
			d := deeds{newWindow(t, a.url, screen), screen, true}
			d.enter(s)
			d.visit("/users/new")
			d.fill("#name", "jonas")
			d.fill("[data-filter-rows]", "GROUP1")
			d.sees(`document.querySelectorAll("tr[data-filter-row]:not([hidden])").length === 5`)
			d.press(`[data-all-rights="edit"]`)
			d.sees(`document.querySelectorAll('[name=right][value$=".edit"]:checked').length === 5`)
			d.fill("[data-filter-rows]", "group")
			d.sees(`document.querySelectorAll("tr[data-filter-row]:not([hidden])").length > 14 && document.querySelector('[data-all-rights="edit"]').indeterminate`)
			d.inspectNow("the form of rights")
			d.press(".form-foot .primary")
			d.sees(`document.querySelector("#made-password").value.length > 20`)
			d.press(".panel footer .primary")
			d.sees(`[...document.querySelectorAll("tbody tr")].some((r) => r.textContent.includes("jonas") && r.textContent.includes("group14"))`)
			a.noPanic(t)
		})
	}
}
