"""What a statement implies of any right callable: values, gradients, scenarios of use, slots that stay unread, theorems."""
