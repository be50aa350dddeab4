package link

import "net/url"

// WebhooksPath is the webhooks that programs are told by (GET), and where a new one goes (POST); WebhookNewPath is its form.
const (
	WebhooksPath   = "/webhooks"
	WebhookNewPath = "/webhooks/new"
)

// Webhook is a webhook with its deliveries in a state, "" for the first of them, below an id.
func Webhook(webhookID int64, state string, below int64) string {
	q := url.Values{}
	if state != "" {
		q.Set("state", state)
	}
	if below > 0 {
		q.Set("below", id(below))
	}
	path := WebhooksPath + "/" + id(webhookID)
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}

// WebhookDeed is the form or the deed of a webhook: edit, test, secret, delete, again.
func WebhookDeed(webhookID int64, deed string) string { return Webhook(webhookID, "", 0) + "/" + deed }

// DeliveryAgain sends a delivery again.
func DeliveryAgain(webhookID, delivery int64) string {
	return Webhook(webhookID, "", 0) + "/deliveries/" + id(delivery) + "/again"
}
