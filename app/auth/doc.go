// Package auth says who somebody is and lets them in: passwords, login sessions and their limits, and what a user may
// touch ([Principal]). What may be done with it is decided in the use cases of package manage.
//
// A session is a row whose id is the hash of a random number; the cookie holds the number. Somebody who reads the
// database can therefore not use its sessions, and deleting a row logs its user out at once.
package auth
