package process

// Account is the user as whom programs run.
type Account struct {
	Name, Home string
	UID, GID   uint32
	Groups     []uint32
}

// environ are the variables that tell a program whose it is.
func (a *Account) environ() []string {
	if a == nil {
		return nil
	}
	return []string{"USER=" + a.Name, "LOGNAME=" + a.Name, "HOME=" + a.Home}
}
