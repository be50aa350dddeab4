package link

// ForecastPath is what is due in the next days.
const ForecastPath = "/forecast"
