"""The benchmark that judges `Transfer*CV`: two rules, their rivals, many problems, honest and changed sources."""
