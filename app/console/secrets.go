package console

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// secretPages are what jobs use without knowing it.
type secretPages struct {
	*frame
	secrets *manage.Secrets
}

func (c *secretPages) routes(g *echo.Group) {
	g.GET("/executors/:id/secrets", c.secretList)
	g.POST("/executors/:id/secrets", c.secretSet)
	g.GET("/executors/:id/secrets/delete", c.secretDeleteForm)
	g.POST("/executors/:id/secrets/delete", c.secretDelete)
}

func (c *secretPages) secretList(ec echo.Context) error {
	return c.secretPage(ec, http.StatusOK, groups.SecretsPage{Page: c.pageWithFlash(ec)})
}

func (c *secretPages) secretPage(ec echo.Context, status int, page groups.SecretsPage) error {
	groupID, err := id(ec)
	if err != nil {
		return err
	}
	ctx, p := ec.Request().Context(), who(ec)
	list, err := c.secrets.List(ctx, p, groupID)
	if err != nil {
		return err
	}
	g, err := c.groups.Get(ctx, p, groupID)
	if err != nil {
		return err
	}
	page.ID, page.Title, page.NoKey, page.CanSet = groupID, g.Title, !c.secrets.Ready(), p.Can(groupID, manage.RightSecrets)
	for _, s := range list {
		page.Rows = append(page.Rows, groups.SecretRow{Name: s.Name, By: s.UpdatedBy, Updated: c.at(page.Page, fromMillis(s.UpdatedAt))})
	}
	return render(ec, status, groups.Secrets(page))
}

// secretSet keeps a value, which is never sent back: a form that is refused asks for it again.
func (c *secretPages) secretSet(ec echo.Context) error {
	groupID, err := id(ec)
	if err != nil {
		return err
	}
	name := ec.FormValue(groups.FieldSecretName)
	value := ec.FormValue(groups.FieldSecretValue)
	if err := c.secrets.Set(ec.Request().Context(), who(ec), groupID, name, value); err != nil {
		page := groups.SecretsPage{Page: c.Page(ec), Name: name}
		errs, ok := fieldErrors(page.Page, err)
		if !ok {
			return err
		}
		page.Errors = errs
		return c.secretPage(ec, http.StatusUnprocessableEntity, page)
	}
	return c.goTo(ec, link.ExecutorSecrets(groupID), done("secrets.flash.set", "Name", strings.ToUpper(strings.TrimSpace(name))))
}

func (c *secretPages) secretDeleteForm(ec echo.Context) error {
	groupID, err := id(ec)
	if err != nil {
		return err
	}
	if err := c.secrets.MaySet(ec.Request().Context(), who(ec), groupID); err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, groups.SecretDelete(groups.SecretDeletePage{Page: c.Page(ec), ID: groupID, Name: ec.QueryParam(groups.FieldSecretName)}), ui.FragmentDialog)
}

func (c *secretPages) secretDelete(ec echo.Context) error {
	groupID, err := id(ec)
	if err != nil {
		return err
	}
	name := ec.QueryParam(groups.FieldSecretName)
	if err := c.secrets.Delete(ec.Request().Context(), who(ec), groupID, name); err != nil {
		return err
	}
	return c.goTo(ec, link.ExecutorSecrets(groupID), done("secrets.flash.deleted", "Name", name))
}
