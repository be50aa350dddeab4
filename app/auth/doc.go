// Package auth says who somebody is and lets them in: passwords, login sessions and their limits, and what a user may
// touch ([Principal]). What may be done with it is decided in the use cases of package manage.
//
// A session is a row whose id is the hash of a random number; the cookie holds the number. Somebody who reads the
// database can therefore not use its sessions, and deleting a row logs its user out at once.
//
// Failed logins are counted by where they come from ([Logins]). Who comes from a device or an address at which the user has logged
// in before ([Places]) has attempts of their own, so that nobody can be locked out from elsewhere, and goes first where passwords
// are hashed. What is counted is in the database, which makes it the same for all admins.
//
// Every way to show who one is ends in [SignIns], which alone opens sessions.
package auth
