"""What is wrong with a cluster's DNS: facts in, findings out. Pure; `waypost.doctor` collects the facts."""
