package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// SecretsCmd looks after the secrets of groups of executors.
type SecretsCmd struct {
	List   secretsList   `cmd:"" help:"List the secrets of a group, without their values."`
	Set    secretsSet    `cmd:"" help:"Set a secret, in place of the one of that name: its value is typed without being shown, or all of standard input but a line end behind it."`
	Delete secretsDelete `cmd:"" help:"Delete secrets; runs that name one are not sent from then on."`
}

// ofGroup are the secrets of a group.
type ofGroup struct {
	Target
	Group groupRef `arg:"" complete:"groups" help:"The group of executors: its number, or its app name."`
}

// secrets is how the admin is called, and the path of the group's secrets.
func (o ofGroup) secrets(ctx context.Context) (*api, string, error) {
	a, id, err := o.find(ctx, o.Group)
	return a, fmt.Sprintf("/groups/%d/secrets", id), err
}

type secretsList struct{ ofGroup }

func (c secretsList) Run(ctx context.Context, s Streams) error {
	_, path, err := c.secrets(ctx)
	if err != nil {
		return err
	}
	return c.get(ctx, s, path, nil, unpaged, []column{field("NAME", "name"), field("CHANGED", "changed_at"), field("BY", "changed_by")})
}

type secretsSet struct {
	ofGroup
	Name string `arg:"" help:"Its name: letters, digits and underscores."`
}

func (c secretsSet) Run(ctx context.Context, s Streams) error {
	a, path, err := c.secrets(ctx)
	if err != nil {
		return err
	}
	value, err := readSecret(ctx, s, "Value of "+c.Name+", which is not shown: ")
	if err != nil {
		return err
	}
	if value == "" {
		return errors.New("no value on standard input")
	}
	if _, err := a.do(ctx, http.MethodPost, path, nil, map[string]string{"name": c.Name, "value": value}); err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "%s: set\n", c.Name)
	return nil
}

type secretsDelete struct {
	ofGroup
	Names []string `arg:"" name:"name" help:"Their names."`
}

func (c secretsDelete) Run(ctx context.Context, s Streams) error {
	a, path, err := c.secrets(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range c.Names {
		if _, err := a.do(ctx, http.MethodDelete, path+"/"+url.PathEscape(name), nil, nil); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		fmt.Fprintf(s.Err, "%s: deleted\n", name)
	}
	return errors.Join(errs...)
}
