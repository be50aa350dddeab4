package console

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/pinyin"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/palette"
	"github.com/punctual-job/punctual/views/saved"
	"github.com/punctual-job/punctual/views/ui"
)

// savedViews are the filters of lists that somebody keeps.
type savedViews struct {
	*frame
	views *manage.Views
}

func (c *savedViews) routes(g *echo.Group) {
	g.GET(link.ViewNewPath, c.viewNew)
	g.POST(link.ViewsPath, c.viewCreate)
	g.GET("/views/:id/edit", c.viewEdit)
	g.POST("/views/:id", c.viewUpdate)
	g.POST("/views/:id/delete", c.viewDelete)
}

// viewBar are the kept filters of a list, and the offer to keep the one that is used. params is the list's filter without the
// place in it.
func (c *savedViews) viewBar(ec echo.Context, page, params string) (saved.Bar, error) {
	list, err := c.views.List(ec.Request().Context(), who(ec), page)
	if err != nil {
		return saved.Bar{}, err
	}
	bar := saved.Bar{Page: page, Params: params, CanSave: params != ""}
	for _, v := range list {
		clean := link.ViewParams(page, v.Params) // a filter of an older version may say what no list has any more
		item := saved.Item{ID: v.ID, Name: v.Name, URL: link.ViewOf(page, clean), Shared: v.Shared, Current: clean == params, CanEdit: v.Edit}
		if item.Current {
			bar.CanSave = false
		}
		bar.Items = append(bar.Items, item)
	}
	return bar, nil
}

func (c *savedViews) viewNew(ec echo.Context) error {
	page := ec.QueryParam(saved.FieldPage)
	params := link.ViewParams(page, ec.QueryParam(saved.FieldParams))
	if params == "" {
		return notFound()
	}
	return c.viewForm(ec, http.StatusOK, saved.FormPage{Page: c.Page(ec), List: page, Params: params})
}

func (c *savedViews) viewForm(ec echo.Context, status int, page saved.FormPage) error {
	page.CanShare = who(ec).Admin
	return renderPart(ec, status, saved.Form(page), ui.FragmentDialog)
}

// viewAgain draws a form that was refused.
func (c *savedViews) viewAgain(ec echo.Context, page saved.FormPage, in manage.ViewInput, err error) error {
	errs, ok := fieldErrors(page.Page, err)
	if !ok {
		return err
	}
	page.Name, page.Shared, page.Error, page.Replace = in.Name, in.Shared, errs[manage.ViewName], in.Replace
	page.CanReplace = page.ID == 0 && page.Error == page.T("views.error.taken")
	return c.viewForm(ec, http.StatusUnprocessableEntity, page)
}

func viewInput(ec echo.Context) manage.ViewInput {
	return manage.ViewInput{Name: ec.FormValue(saved.FieldName), Shared: ec.FormValue(saved.FieldShared) != "", Replace: ec.FormValue(saved.FieldReplace) != ""}
}

func (c *savedViews) viewCreate(ec echo.Context) error {
	in := viewInput(ec)
	in.Page = ec.FormValue(saved.FieldPage)
	in.Params = link.ViewParams(in.Page, ec.FormValue(saved.FieldParams))
	if _, err := c.views.Create(ec.Request().Context(), who(ec), in); err != nil {
		return c.viewAgain(ec, saved.FormPage{Page: c.Page(ec), List: in.Page, Params: in.Params}, in, err)
	}
	return c.goTo(ec, link.ViewOf(in.Page, in.Params), done("views.flash.saved", "Name", in.Name))
}

func (c *savedViews) viewEdit(ec echo.Context) error {
	v, err := c.view(ec)
	if err != nil {
		return err
	}
	return c.viewForm(ec, http.StatusOK, viewPage(c.Page(ec), v))
}

func viewPage(page layout.Page, v manage.View) saved.FormPage {
	return saved.FormPage{Page: page, ID: v.ID, List: v.Page, Params: v.Params, Name: v.Name, Shared: v.Shared}
}

// view is the one that the path names.
func (c *savedViews) view(ec echo.Context) (manage.View, error) {
	viewID, err := id(ec)
	if err != nil {
		return manage.View{}, err
	}
	return c.views.Get(ec.Request().Context(), who(ec), viewID)
}

func (c *savedViews) viewUpdate(ec echo.Context) error {
	v, err := c.view(ec)
	if err != nil {
		return err
	}
	in := viewInput(ec)
	if err := c.views.Update(ec.Request().Context(), who(ec), v.ID, in); err != nil {
		return c.viewAgain(ec, viewPage(c.Page(ec), v), in, err)
	}
	return c.goTo(ec, link.ViewOf(v.Page, v.Params), done("views.flash.saved", "Name", in.Name))
}

func (c *savedViews) viewDelete(ec echo.Context) error {
	viewID, err := id(ec)
	if err != nil {
		return err
	}
	v, err := c.views.Delete(ec.Request().Context(), who(ec), viewID)
	if err != nil {
		return err
	}
	said := done("views.flash.deleted", "Name", v.Name)
	return c.goTo(ec, link.ViewOf(v.Page, v.Params), said)
}

// findViews looks for kept filters by their names.
func (c *savedViews) findViews(ec echo.Context, page *palette.Page) (palette.Section, error) {
	s := palette.Section{Name: palette.Views}
	list, err := c.views.List(ec.Request().Context(), who(ec), "")
	if err != nil {
		return s, err
	}
	for _, v := range list {
		if !containsFold(v.Name, page.Text) && !pinyin.Of(v.Name).Has(page.Text) {
			continue
		}
		s.Hits = append(s.Hits, palette.Hit{Icon: "bookmark", Title: v.Name, Sub: page.T("nav." + v.Page), URL: link.ViewOf(v.Page, link.ViewParams(v.Page, v.Params))})
		if len(s.Hits) == paletteHits {
			break
		}
	}
	return s, nil
}
